"""Show blocks of code without the empty line that ends a doctest in the source."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def _strip(app: Sphinx, document: nodes.document) -> None:
    for block in document.findall(nodes.literal_block):
        # A block whose text differs from its source was changed on purpose, as by a directive.
        if block.astext() == block.rawsource and block.rawsource != block.rawsource.rstrip("\n"):
            block.rawsource = block.rawsource.rstrip("\n")
            block[:] = [nodes.Text(block.rawsource)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Strip each page after it is read."""
    app.connect("doctree-read", _strip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
