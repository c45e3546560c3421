"""Predictability: whether the links of a graph follow from its other links, or are random beyond the degrees.

Some edges are held out. Two of them, a-b and c-d, exchange their ends: a-d and c-b. In a graph that is random but for
its degrees, both pairs of edges are equally likely, whatever the other edges are; in a graph with any structure, the
real ones are joined by more paths. So the figure needs no training, and is one half, up to chance, for every graph that
is random.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from efge.graph.bipartite import two_sides
from efge.graph.graph import Graph
from efge.graph.neighborhoods import are_edges
from efge.kernels import csr as kernel
from efge.kernels.common import CACHE_LINE
from efge.kernels.sparse import combine_rows
from efge.linalg import scale_by_power_of_two
from efge.system import available_threads

# SciPy is imported where it is used: small graphs need none of it.
if TYPE_CHECKING:
    from scipy.sparse import csr_array

Rows = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

# A share of the edges is held out, again and again until this many have been, and at most so many times.
_TEST_SIZE, _MIN_TESTED, _MAX_TESTED, _MAX_ROUNDS = 0.1, 1000, 4096, 10
# Each round pairs its edges this many times.
_PAIRINGS = 4
# With fewer edges than this to exchange, or fewer exchanges, chance decides too much.
_MIN_EDGES = 300
# Nor is a graph random if its cycles join only a small part of it: less than this share of its edges.
_MIN_SHARE = 0.25
# Paths of 11 + 12 = 23 edges: long ones find large communities, and an odd number joins the sides of a bipartite graph.
_STEPS = 11
# Random vectors estimate the number of paths; they are multiplied in blocks of columns, which saves memory.
_DIMENSIONS = 32
# Rows of a product that a thread computes at a time.
_ROWS = 1 << 13
# The smallest positive float.
_SMALLEST = 5e-324
# Figures of graphs that are still in use: several models may be fitted to the same one.
_KNOWN: WeakKeyDictionary[Graph, float | None] = WeakKeyDictionary()

# Below this, links look random. It lies between random graphs and those with structure that were tried: see
# benchmarks/results/predictability.json.
RANDOM = 0.55
LOOK_RANDOM = "the links of this graph look random beyond the degrees of its nodes"


class _Edges(NamedTuple):
    """Some edges, with their weights."""

    first: Rows
    second: Rows
    weights: npt.NDArray[np.float64]

    def take(self, rows: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> _Edges:
        """Return some of the edges."""
        return _Edges(self.first[rows], self.second[rows], self.weights[rows])


def measure_predictability(graph: Graph, threads: int | None = None) -> float | None:
    """Return the probability that two held-out edges are told from the same two with exchanged ends.

    It is .5 if the links are random beyond the degrees of the nodes, and near 1 if they follow from the other links.
    Edges count by their weights, unless these differ so much that few edges would count: then all count alike. None if
    it cannot be told: in trees, rings, small graphs, if almost all nodes are linked, and for graphs on disk.

    Examples
    --------
    >>> import networkx as nx
    >>> from efge.graph.inputs import as_graph
    >>> measure_predictability(as_graph(nx.grid_2d_graph(20, 20))) > 0.9
    True
    >>> measure_predictability(as_graph(nx.gnm_random_graph(1000, 5000, seed=0))) < 0.55
    True
    >>> measure_predictability(as_graph(nx.balanced_tree(2, 9)))
    """
    if graph not in _KNOWN:
        is_measured = graph._file is None and graph.n_edges >= _MIN_EDGES
        _KNOWN[graph] = _measure(graph, threads or available_threads()) if is_measured else None
    return _KNOWN[graph]


def explain_unknown(graph: Graph) -> str:
    """Say why the predictability of a graph cannot be told.

    Examples
    --------
    >>> from efge.graph.inputs import as_graph
    >>> explain_unknown(as_graph([("ann", "bob")]))
    'fewer than 300 edges'
    """
    if graph._file is not None:
        return "the graph is on disk"
    if graph.n_edges < _MIN_EDGES:
        return f"fewer than {_MIN_EDGES} edges"
    return "too few edges can exchange their ends, as in trees, rings and complete graphs"


def describe_randomness(predictability: float | None) -> str | None:
    """Say what it means if links look random; None if they do not, or if it cannot be told.

    Examples
    --------
    >>> describe_randomness(0.9)
    >>> describe_randomness(0.5)
    'the links of this graph look random beyond the degrees of its nodes: held-out edges are told from the same ...'
    """
    if predictability is None or predictability >= RANDOM:
        return None
    return (
        f"{LOOK_RANDOM}: held-out edges are told from the same edges with exchanged ends in {predictability:.0%} of"
        " cases, and chance gives 50%; vectors may say no more than degrees do. Check that the edges are what you mean;"
        " efge.link_prediction (efge links GRAPH) measures what vectors are worth"
    )


def _measure(graph: Graph, threads: int) -> float | None:
    random = np.random.Generator(np.random.PCG64(0))
    matrix, _ = scale_by_power_of_two(graph.to_scipy())
    links, edges = _links_and_edges(graph, matrix, random)
    # Weights that differ by orders of magnitude leave few edges that count; then all count alike.
    if _count_heavy(edges.weights) < _MIN_EDGES:
        matrix = matrix.copy()
        matrix.data[:] = 1
        links, edges = _links_and_edges(graph, matrix, random)
    n_edges = len(edges.first)
    if n_edges < max(_MIN_EDGES, _MIN_SHARE * graph.n_edges):
        return None
    n_held_out = min(int(_TEST_SIZE * n_edges), _MAX_TESTED)
    gains = []
    for _ in range(min(-(-_MIN_TESTED // n_held_out), _MAX_ROUNDS)):
        # Edges that are too light to be ever drawn get a chance, so that there are enough.
        chances = edges.weights + np.finfo(np.float32).tiny
        held_out = edges.take(random.choice(n_edges, n_held_out, replace=False, p=chances / chances.sum()))
        exchanges = _draw_exchanges(graph, held_out, random)
        gains.append(_compare(_step_matrix(links, held_out), exchanges, random, threads))
    gain = np.concatenate(gains)
    return float(((gain > 0) + (gain == 0) / 2).mean()) if len(gain) >= _MIN_EDGES else None


def _count_heavy(weights: npt.NDArray[np.float64]) -> float:
    """Return how many edges of equal weights would be as uneven a sum."""
    return float(weights.sum() ** 2 / np.maximum((weights**2).sum(), _SMALLEST))


def _links_and_edges(graph: Graph, matrix: csr_array, random: np.random.Generator) -> tuple[csr_array, _Edges]:
    """Return the links that are part of cycles, in both directions, and the edges that can exchange their ends."""
    links = _cyclic_part((matrix + matrix.T).tocsr() if graph.directed else matrix.copy())
    return links, _exchangeable_edges(graph, matrix, np.diff(links.indptr), random)


def _cyclic_part(links: csr_array) -> csr_array:
    """Return links without loops, and without the trees that hang off the cycles: they have no second path."""
    links.setdiag(0)
    links.eliminate_zeros()
    degrees = np.diff(links.indptr).astype(np.int64)
    kernel.peel_leaves(links.indptr, links.indices, degrees, np.empty(len(degrees), np.int64))
    _scale_entries(links, (degrees > 0).astype(np.float64))
    links.eliminate_zeros()
    return links


def _scale_entries(matrix: csr_array, scale: npt.NDArray[np.float64]) -> None:
    """Multiply each entry by the scale of its row and that of its column."""
    matrix.data *= scale[matrix.indices] * np.repeat(scale, np.diff(matrix.indptr))


def _exchangeable_edges(
    graph: Graph, matrix: csr_array, degrees: npt.NDArray[np.integer], random: np.random.Generator
) -> _Edges:
    """Return edges whose ends have three links or more: an edge of a node with two is part of a chain.

    Edges of a bipartite graph lead from one side to the other, others in a random direction; those of a directed graph
    keep theirs.
    """
    entries = matrix.tocoo()
    rows, columns = entries.row.astype(np.int64), entries.col.astype(np.int64)
    is_edge = rows != columns if graph.directed else rows < columns
    edges = _Edges(rows, columns, entries.data).take(is_edge & (degrees[rows] > 2) & (degrees[columns] > 2))
    if graph.directed:
        return edges
    sides = two_sides(graph)
    turned = random.random(len(edges.first)) < 0.5 if sides is None else sides[edges.first] == 1
    first, second = (np.where(turned, *ends) for ends in ((edges.second, edges.first), (edges.first, edges.second)))
    return edges._replace(first=first, second=second)


def _draw_exchanges(graph: Graph, edges: _Edges, random: np.random.Generator) -> Rows:
    """Return rows (a, b, c, d) of edges a-b and c-d, where a-d and c-b join different nodes and are no edges."""
    half = len(edges.first) // 2
    drawn = []
    for _ in range(_PAIRINGS):
        order = random.permutation(len(edges.first))
        one, other = edges.take(order[:half]), edges.take(order[half : 2 * half])
        drawn.append(np.column_stack([one.first, one.second, other.first, other.second]))
    a, b, c, d = np.concatenate(drawn).T
    possible = (a != c) & (b != d) & (a != d) & (c != b) & ~are_edges(graph, a, d) & ~are_edges(graph, c, b)
    exchanges: Rows = np.column_stack([a, b, c, d])[possible]
    return exchanges


def _step_matrix(links: csr_array, held_out: _Edges) -> tuple[csr_array, Floats]:
    """Return D^-1/2 W D^-1/2 of the links that are not held out, and the diagonal of D^-1/2."""
    from scipy.sparse import coo_array

    ends = np.concatenate([held_out.first, held_out.second]), np.concatenate([held_out.second, held_out.first])
    removed = coo_array((np.tile(held_out.weights, 2), ends), shape=links.shape).tocsr()
    kept = (links - removed).tocsr()
    sums = kept.sum(axis=1)
    scale = np.divide(1, np.sqrt(sums), out=np.zeros(len(sums)), where=sums > 0)
    _scale_entries(kept, scale)
    return kept.astype(np.float32), scale.astype(np.float32)


def _compare(
    step_matrix: tuple[csr_array, Floats], exchanges: Rows, random: np.random.Generator, threads: int
) -> Floats:
    """Return by how much more paths join the real edges than the exchanged ones, in proportion to the degrees."""
    steps, scale = step_matrix
    a, b, c, d = exchanges.T
    gains = np.zeros(len(exchanges), np.float32)
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(_DIMENSIONS // CACHE_LINE):
            before = random.standard_normal((len(scale), CACHE_LINE), np.float32)
            for _ in range(_STEPS):
                before = _multiply(steps, before, pool)
            after = _multiply(steps, before, pool) * scale[:, None]
            before *= scale[:, None]
            # The sum over real edges minus that over exchanged ones: (a - c) times (b - d), in both directions.
            gains += ((before[a] - before[c]) * (after[b] - after[d])).sum(axis=1)
            gains += ((after[a] - after[c]) * (before[b] - before[d])).sum(axis=1)
    return gains


def _multiply(matrix: csr_array, block: Floats, pool: ThreadPoolExecutor) -> Floats:
    """Return the product with a block of columns; threads share its rows, without an effect on any bit."""
    product, scales = np.empty_like(block), np.ones(len(block))
    arrays = matrix.indptr.astype(np.int64, copy=False), matrix.indices, matrix.data

    def fill(begin: int) -> None:
        end = min(begin + _ROWS, len(block))
        # The kernel multiplies by the matrix plus the identity; the second factor takes the block off again.
        combine_rows(*arrays, scales, (1.0, -1.0, 0.0), block, block, product, product, begin, end)

    list(pool.map(fill, range(0, len(block), _ROWS)))
    return product
