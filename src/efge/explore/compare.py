"""Two embeddings of the same nodes: their maps made comparable, and how much their neighborhoods agree."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from efge.embedding.embedding import Embedding
from efge.explore.layout import Layout
from efge.parallel import single_threaded_blas


def align_places(layout: Layout, target: Layout) -> Layout:
    """Turn, mirror, scale and shift a map so that its nodes are as near as possible to those of another map.

    Examples
    --------
    >>> square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
    >>> turned = Layout(square[:, ::-1] * 7 + 3, "turned")
    >>> bool(np.allclose(align_places(turned, Layout(square, "square")).places, square, atol=1e-5))
    True
    """
    places, goal = layout.places.astype(np.float64), target.places.astype(np.float64)
    center, goal_center = places.mean(axis=0), goal.mean(axis=0)
    size = float(np.square(places - center).sum())
    if not size:
        return layout
    with single_threaded_blas():
        left, strengths, right = np.linalg.svd((places - center).T @ (goal - goal_center))
        aligned = (places - center) @ (left @ right) * (strengths.sum() / size) + goal_center
    return Layout(aligned.astype(np.float32), f"{layout.about}, turned and scaled to fit the first map")


def common_neighbors(first: Embedding, second: Embedding, k: int) -> npt.NDArray[np.float64]:
    """Return for each node the fraction of its k nearest neighbors that both embeddings share.

    Examples
    --------
    >>> line = Embedding([[1, 0], [1, 0.1], [0, 1]])
    >>> common_neighbors(line, line, 1).tolist()
    [1.0, 1.0, 1.0]
    """
    rows, others = first.nearest(k=k)[0], second.nearest(k=k)[0]
    shared: npt.NDArray[np.float64] = (rows[:, :, None] == others[:, None, :]).any(axis=2).mean(axis=1)
    return shared
