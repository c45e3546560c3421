"""Every compiled loop, a file a room; kernels take arrays and scalars, fill what they are given, and decide nothing.

Kernels that call each other share a file, because Numba's cache does not see an edit in another file. The exceptions
are ``intrinsics``, ``streams``, ``rows`` and ``steps``: after an edit of these, the caches of those who import them
must go (``make clean``).

Compiled code is kept beside the source, in the user's cache, or where NUMBA_CACHE_DIR says. Where none of these can be
written to, it is kept for this process only, which costs its compilation and nothing else.
"""

import atexit
import shutil
import tempfile

import numba


def _cacheable() -> None:
    """Nothing: a function to ask whether there is a place for it."""


try:
    numba.njit(cache=True)(_cacheable)
except RuntimeError:
    numba.config.CACHE_DIR = tempfile.mkdtemp(prefix="efge-")
    atexit.register(shutil.rmtree, numba.config.CACHE_DIR, ignore_errors=True)
