"""The map of an embedding as a figure that does not move."""

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
    embedding : Embedding, or an estimator that is fitted
    labels : path, mapping, data frame or sequence, optional
        Classes as for :func:`efge.node_classification`; of a node with several, the first.
    method : "tsne", "umap" or "pca", optional
        How vectors become a map, see :func:`efge.explore.lay_out`.
    seed : int
    axes : matplotlib axes, optional
        By default, those of a new figure: ``plot_embedding(...).figure.savefig("map.png")``.

    Examples
    --------
    >>> import efge
    >>> friends = efge.Embedding([[1, 0], [0.6, 0.8], [0, 2]], ["ann", "bob", "cid"])
    >>> plot_embedding(friends, {"ann": "chess", "bob": "go", "cid": "go"}).get_title()
    'the two dimensions as they are'
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
