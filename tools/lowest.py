"""The lowest version of every dependency that the installed efge declares, as constraints for pip.

    python -m pip install --no-deps --editable .
    python tools/lowest.py > lowest.txt
    python -m pip install --editable '.[test,docs]' --constraint lowest.txt

A dependency without a lower bound, or with another bound than that, ends it with exit code 2.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import requires

# A name, perhaps extras in brackets, the lower bound, perhaps a marker.
_DECLARED = re.compile(r"([\w.-]+)(?:\[[\w,.-]+\])?>=([\w.]+)(?:; *(.*))?")
# An extra is asked for on pip's command line; a constraint holds whoever asks.
_EXTRA = re.compile(r"(?: and )?\(?extra == '[\w-]+'\)?")


def lowest(declared: str) -> str:
    """A declared dependency, pinned to its lower bound.

    Examples
    --------
    >>> lowest("numpy>=1.26")
    'numpy==1.26'
    >>> lowest("mkdocstrings[python]>=0.27; extra == 'docs'")
    'mkdocstrings==0.27'
    >>> lowest("gensim>=4.4; (python_version < '3.14') and extra == 'test'")
    "gensim==4.4; (python_version < '3.14')"
    """
    found = _DECLARED.fullmatch(declared)
    if not found:
        sys.stderr.write(f"lowest.py: a dependency has a lower bound and no other, as numpy>=1.26; got {declared}\n")
        sys.exit(2)
    name, version, marker = found.groups()
    marker = _EXTRA.sub("", marker or "")
    return f"{name}=={version}" + (f"; {marker}" if marker else "")


if __name__ == "__main__":
    sys.stdout.write("".join(f"{line}\n" for line in sorted({lowest(declared) for declared in requires("efge") or ()})))
