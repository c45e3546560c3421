"""Weights as text -> numbers, also with decimal commas, separated thousands and currency signs, as in spreadsheets."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

import numpy as np

from efge.errors import GraphError
from efge.graph.graph import Weights
from efge.graph.names import Fields
from efge.kernels import text as kernel

_GROUPS = re.compile(
    r"[^\d]*\d{1,3}(?P<thousands>[,.' \u00a0\u202f])\d{3}(?P<more>(?:(?P=thousands)\d{3})*)(?P<rest>[.,]\d+)?[^\d]*"
)
_DECIMAL_COMMA = re.compile(r"[^\d]*\d+,\d+[^\d]*")
_MARKS = ".,' \u00a0\u202f"


class NumberFormat(NamedTuple):
    """The decimal mark, and the mark between thousands if there is one."""

    decimal: str = "."
    thousands: str | None = None

    def check(self) -> NumberFormat:
        """Return the format; raise a GraphError if a mark is not valid."""
        for option, mark in (("decimal", self.decimal), ("thousands", self.thousands)):
            if mark is not None and (not isinstance(mark, str) or len(mark) != 1 or mark.isalnum() or mark in "+-"):
                raise GraphError(f"{option} is one character, such as ',' or '.'; got {mark!r}")
        if self.decimal == self.thousands:
            raise GraphError(f"decimal and thousands are different marks; got {self.decimal!r} for both")
        return self

    def parse(self, text: str) -> float:
        """Parse a number, which may have a currency sign; raise a ValueError if it is none."""
        digits = "".join(char for char in text if unicodedata.category(char) != "Sc").strip()
        if self.thousands is not None:
            if not re.fullmatch(_grouped(self.thousands, self.decimal), digits):
                digits = "none" if self.thousands in digits else digits
            digits = digits.replace(self.thousands, "")
        if self.decimal != ".":
            digits = "none" if "." in digits else digits.replace(self.decimal, ".")
        return float("none" if "_" in digits else digits)


def _grouped(thousands: str, decimal: str) -> str:
    """Return a pattern of a number whose digits before the decimal mark are in groups of three."""
    mark, point = re.escape(thousands), re.escape(decimal)
    return rf"[+-]?\d{{1,3}}(?:{mark}\d{{3}})*(?:{point}\d*)?"


def parse_weights(fields: Fields, numbers: NumberFormat) -> Weights:
    """Parse weights; one that is not a number becomes NaN."""
    values = np.full(len(fields.starts), np.nan)
    if numbers == NumberFormat():
        kernel.parse_weights(*fields, values)
    for i in np.flatnonzero(np.isnan(values)).tolist():
        try:
            values[i] = numbers.parse(fields.text(i))
        except ValueError:
            values[i] = np.nan
    return values


def explain_number(text: str) -> str:
    """Say how to read a number that is written in another way; an empty text if it is none."""
    groups, hints = _GROUPS.fullmatch(text.strip()), []
    if groups is not None:
        mark = groups["thousands"]
        rest = "," if (groups["rest"] or "").startswith(",") else ""
        decimal = (
            f", decimal={rest!r} (--thousands '{mark}' --decimal '{rest}')" if rest else f" (--thousands '{mark}')"
        )
        hints.append(f"if {mark!r} separates thousands, pass thousands={mark!r}{decimal}")
    is_single = groups is None or not (groups["more"] or groups["rest"])
    if is_single and _DECIMAL_COMMA.fullmatch(text.strip()):
        hints.append("if ',' is the decimal mark, pass decimal=',' (--decimal ,)")
    return "".join(f"; {hint}" for hint in hints)
