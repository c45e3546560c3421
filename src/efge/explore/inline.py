"""The page of an embedding within a notebook."""

from __future__ import annotations

import inspect
import os
from html import escape
from typing import Any

from efge.errors import check_choice, check_positive_integers
from efge.explore.page import make_page
from efge.io.atomic import atomic_write


class Page:
    """An interactive page that a notebook shows in the output of a cell.

    Examples
    --------
    >>> import efge
    >>> friends = efge.Embedding([[1, 0], [0.6, 0.8], [0, 2]], ["ann", "bob", "cid"])
    >>> page = friends.explore(columns={"age": [31, 45, 29]})
    >>> page.html[:15]
    '<!doctype html>'
    """

    def __init__(self, html: str, height: int) -> None:
        self.html = html
        self.height = height

    def __repr__(self) -> str:
        return f"Page({len(self.html) / 1e6:.1f} MB; a notebook shows it, and save(path) writes it)"

    def _repr_html_(self) -> str:
        # A frame of its own keeps the styles and scripts of page and notebook apart.
        style = f"width:100%;height:{self.height}px;border:0"
        return f'<iframe srcdoc="{escape(self.html)}" style="{style}" title="Map of an embedding"></iframe>'

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file.

        Examples
        --------
        >>> import efge, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "friends.html")
        >>> efge.Embedding([[1, 0], [0.6, 0.8]], ["ann", "bob"]).explore().save(path)
        >>> path.exists()
        True
        """
        with atomic_write(path) as stream:
            stream.write(self.html.encode())


def inline_page(embedding: Any, height: int, options: dict[str, Any]) -> Page:
    """Return the page of an embedding; `options` are those of `write_page`."""
    check_positive_integers(height=height)
    known = [name for name in inspect.signature(make_page).parameters if name != "embedding"]
    for name in options:
        check_choice("option", name, known)
    return Page(make_page(embedding, **options).decode(), height)
