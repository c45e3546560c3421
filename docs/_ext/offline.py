"""Check the finished site: a page that would fetch anything from a network makes a strict build fail."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

_LOGGER = logging.getLogger(__name__)
_FETCHES = re.compile(
    r"""<(?:script|img|iframe|source|video)\b[^>]*\bsrc=["']?(?:https?:)?//[^"'>]*"""
    r"""|<link\b(?=[^>]*\brel=["']?(?:stylesheet|preload|icon|preconnect))[^>]*\bhref=["']?(?:https?:)?//[^"'>]*"""
)
_IMPORTS = re.compile(r"""@import\s+(?:url\()?["']?(?:https?:)?//[^"')]*|url\(["']?(?:https?:)?//[^"')]*""")


def check(folder: Path) -> list[str]:
    """What the pages and styles in a folder would fetch, each with the file that asks for it."""
    found = []
    for pattern, kind in ((_FETCHES, "*.html"), (_IMPORTS, "*.css")):
        for path in sorted(folder.rglob(kind)):
            text = path.read_text("utf-8")
            found += [f"{path.relative_to(folder)}: {one.group()}" for one in pattern.finditer(text)]
    return found


def _check_site(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        for line in check(Path(app.outdir)):
            _LOGGER.warning("a page is to be readable without a network; %s", line)


def setup(app: Sphinx) -> dict[str, Any]:
    """Check when the build is finished."""
    app.connect("build-finished", _check_site)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
