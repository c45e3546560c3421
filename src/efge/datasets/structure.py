"""A fingerprint of a network that does not depend on how its nodes and classes are numbered.

Distributors number the same network differently, so that the hash of its names tells nothing about a file of another
one. Colors that are refined by those of neighbors, as in the test of Weisfeiler and Leman, do not depend on numbers.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Mapping

import numpy as np
import numpy.typing as npt

from efge.graph.graph import Graph

_ROUNDS = 4


def structure_fingerprint(graph: Graph, labels: Mapping[Hashable, Hashable] | None) -> str:
    """Return a hash of the structure of a graph, and of how many nodes share the classes of each node.

    Examples
    --------
    >>> import efge
    >>> one = efge.as_graph([("a", "b"), ("b", "c")])
    >>> other = efge.as_graph([(2, 1), (1, 7)])
    >>> structure_fingerprint(one, {"a": "x"}) == structure_fingerprint(other, {2: 5})
    True
    """
    colors = _refined_colors(graph)
    classes = {node: value if isinstance(value, tuple) else (value,) for node, value in (labels or {}).items()}
    sizes = Counter(name for names in classes.values() for name in names)
    rows = sorted(
        (color, *sorted(sizes[name] for name in classes.get(node, ())))
        for color, node in zip(colors.tolist(), graph.names.tolist(), strict=True)
    )
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def _refined_colors(graph: Graph) -> npt.NDArray[np.uint64]:
    """Return colors of nodes; nodes whose surroundings differ within a few steps have different ones."""
    sources = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    loops = np.bincount(sources[sources == graph.indices], minlength=graph.n_nodes)
    colors = _mix(np.diff(graph.indptr).astype(np.uint64) * np.uint64(2) + loops.astype(np.uint64))
    for _ in range(_ROUNDS):
        sums = np.zeros(graph.n_nodes, np.uint64)
        np.add.at(sums, sources, _mix(colors)[graph.indices])
        colors = _mix(colors * np.uint64(3) + sums)
    return colors


def _mix(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return 64 well-mixed bits of each value (the finisher of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
