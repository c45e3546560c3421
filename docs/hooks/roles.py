"""Names that docstrings mention, such as :class:`efge.Graph`, become links to where the same page describes them."""

from __future__ import annotations

import re
from typing import Any

_ROLE = re.compile(r":(?:class|func|meth|attr|mod):<code>([\w.]+)</code>")
_ANCHOR = re.compile(r'id="(efge\.[\w.]+)"')


def on_page_content(html: str, **_: Any) -> str:
    """Link names to the anchor that ends like them; a name that has none stays as it is."""
    anchors = _ANCHOR.findall(html)

    def link(found: re.Match[str]) -> str:
        name = found[1]
        anchor = next((one for one in anchors if one in (name, f"efge.{name}") or one.endswith(f".{name}")), None)
        return f'<a href="#{anchor}"><code>{name}</code></a>' if anchor else f"<code>{name}</code>"

    return _ROLE.sub(link, html)
