"""Formulas become MathML when the site is built: a browser shows them without a script and without a network."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from latex2mathml.converter import convert

_INLINE = re.compile(r'<span class="arithmatex">\\\((.+?)\\\)</span>', re.DOTALL)
_BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.+?)\\\]\s*</div>', re.DOTALL)


def on_page_content(html: str, **_: Any) -> str:
    """Put MathML in the place of every formula that the Markdown extension arithmatex has marked."""
    html = _INLINE.sub(lambda found: convert(_formula(found)), html)
    return _BLOCK.sub(lambda found: f'<div class="formula">{convert(_formula(found), display="block")}</div>', html)


def _formula(found: re.Match[str]) -> str:
    return " ".join(unescape(found[1]).split())
