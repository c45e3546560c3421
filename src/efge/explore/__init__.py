"""An interactive page to explore an embedding: one file that any browser opens, without a network connection.

In come an embedding and, optionally, its graph, labels and columns of values. Out comes an HTML file, or a figure. May
import embedding, graph, evaluation (labels, communities), io and plots.
"""

from efge.explore.figure import plot_embedding
from efge.explore.inline import Page, inline_page
from efge.explore.layout import Layout, lay_out
from efge.explore.page import write_page

__all__ = ["Layout", "Page", "inline_page", "lay_out", "plot_embedding", "write_page"]
