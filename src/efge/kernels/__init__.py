"""Compiled loops. Kernels take arrays and scalars, fill the arrays they are given, and decide nothing.

Kernels import nothing of this package but each other; whoever calls them chooses sizes and settings, and writes
messages.

Numba's cache does not see an edit in another file, so kernels that call each other share a file. The exceptions are
``common``, ``intrinsics``, ``random``, ``simd``, ``sgd_step`` and ``sgd_rows``: after an edit of these, delete the
caches of the files that import them (``make clean``). A kernel that is called by another one inherits its fastmath
flags, and where a function is inlined can change how the compiler rounds: after such edits, compare bits.

``caching`` has the two decorators: `entry_point` for kernels that Python calls, and `helper` for what only they call.
Compiled code is cached beside the source, in the user's cache folder, or in NUMBA_CACHE_DIR. If none of these can be
written to, it is kept for this process only, which costs compilation at each start and nothing else.
"""

import atexit
import shutil
import tempfile

import numba


def _cacheable() -> None:
    """Do nothing; Numba is asked whether it could cache this."""


try:
    numba.njit(cache=True)(_cacheable)
except RuntimeError:
    numba.config.CACHE_DIR = tempfile.mkdtemp(prefix="efge-")
    atexit.register(shutil.rmtree, numba.config.CACHE_DIR, ignore_errors=True)
