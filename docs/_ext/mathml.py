"""Write formulas as MathML when the site is built: a browser shows them without a script and without a network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(convert(_formula(node)))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="formula">{convert(_formula(node), display="block")}</div>\n')
    raise nodes.SkipNode


def _formula(node: nodes.Element) -> str:
    return " ".join(node.astext().split())


def setup(app: Sphinx) -> dict[str, Any]:
    """Make `html_math_renderer = "mathml"` known to Sphinx."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
