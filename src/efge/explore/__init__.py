"""A page to explore an embedding in: one file, opened by any browser, without a network."""

from efge.explore.figure import plot_embedding
from efge.explore.layout import Layout, lay_out
from efge.explore.page import write_page

__all__ = ["Layout", "lay_out", "plot_embedding", "write_page"]
