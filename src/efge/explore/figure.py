"""The map of an embedding as a static figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from efge.evaluation.labels import as_targets
from efge.explore.layout import lay_out
from efge.plots import plot_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_embedding(
    embedding: Any, labels: Any = None, *, method: str | None = None, seed: int = 0, axes: Axes | None = None
) -> Axes:
    """Draw an embedding in two dimensions, colored by the classes of nodes.

    Parameters
    ----------
    embedding : Embedding or fitted estimator
    labels : path, mapping, data frame or sequence, optional
        Classes as for :func:`efge.node_classification`; a node with several classes has the color of the first.
    method : "tsne", "umap" or "pca", optional
        Projection to two dimensions, as in :func:`efge.write_page`.
    seed : int
    axes : matplotlib axes, optional
        Axes to draw on. By default, the axes of a new figure: ``plot_embedding(...).figure.savefig("map.png")``.

    Examples
    --------
    >>> import efge
    >>> friends = efge.Embedding([[1, 0], [0.6, 0.8], [0, 2]], ["ann", "bob", "cid"])
    >>> plot_embedding(friends, {"ann": "chess", "bob": "go", "cid": "go"}).get_title()
    'the two dimensions of the vectors'
    """
    embedding = getattr(embedding, "embedding_", embedding)
    layout = lay_out(embedding, method, seed)
    groups = None
    if labels is not None:
        targets = as_targets(labels, embedding)
        groups = ["no label"] * len(embedding)
        for row, column in zip(targets.rows.tolist(), targets.members.argmax(axis=1).tolist(), strict=True):
            groups[row] = str(targets.classes[column])
    return plot_map(layout.places, groups, layout.about, axes)
