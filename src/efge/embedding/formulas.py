"""Names that a spreadsheet would run as formulas: an apostrophe before them makes them text, and is removed again.

A name that looks as if it had such an apostrophe always gets another one, so that reading gives back what was written.
"""

from __future__ import annotations

import re

import numpy as np

from efge.graph.names import Names

# Formats that people open in spreadsheets, and that are read again.
SPREADSHEET_FORMATS = ("csv", "tsv", "tensorboard")
_FORMULA = re.compile(r"[=+\-@\t\r]")
_ESCAPED = re.compile(r"'+[=+\-@\t\r]")


def escape_names(names: Names, formulas: bool) -> Names:
    """Return names with an apostrophe before those that have one already and, on request, before formulas."""
    if names.dtype != object:
        return names
    escaped = np.empty(len(names), object)
    escaped[:] = [f"'{name}" if _must_escape(name, formulas) else name for name in names.tolist()]
    return escaped


def _must_escape(name: object, formulas: bool) -> bool:
    return isinstance(name, str) and bool(_ESCAPED.match(name) or (formulas and _FORMULA.match(name)))


def unescape_name(name: object) -> object:
    """Return a name without the apostrophe that `escape_names` adds."""
    return name[1:] if isinstance(name, str) and _ESCAPED.match(name) else name
