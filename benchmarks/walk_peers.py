"""Random walks with efge and other libraries, prepared so that only the walking is timed.

A library is called by its documented interface or by its inner compiled loop, its fastest way from a graph to integer
arrays of walks: then building, tables, compilation and the conversion to node names are not timed. efge is always
called by its documented interface. The seed determines the walks of efge and grape only; the others use numba's
per-thread generators.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Walks = NDArray[np.integer[Any]]

# By default, grape considers 100 random neighbors of a hub; the others consider all of them.
ALL_NEIGHBORS = 2**30

# pecanpy's table has 8 bytes per pair of neighbors of a node; a worker holds one table per (p, q).
TABLE_BYTES = 3 * 2**30


@dataclass(frozen=True)
class Graph:
    """An undirected graph without weights or self loops, as sorted rows of neighbors."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    @property
    def degrees(self) -> NDArray[np.int64]:
        return np.diff(self.indptr)

    def edges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the two nodes of each edge, every edge once."""
        sources = np.repeat(np.arange(self.degrees.size), self.degrees)
        once = sources < self.indices
        return sources[once], self.indices[once].astype(np.int64)

    def starts(self, walks_per_node: int) -> NDArray[np.int64]:
        """Return the first nodes of all walks; no walk starts at an isolated node, so none ends early."""
        return np.tile(np.flatnonzero(self.degrees), walks_per_node)


@dataclass(frozen=True)
class Request:
    """Which walks to make; a walk of ``walk_length`` nodes has one transition less."""

    p: float
    q: float
    walks_per_node: int
    walk_length: int
    seed: int
    documented: bool

    @property
    def first_order(self) -> bool:
        return self.p == self.q == 1


class Peer(Protocol):
    """A library that walks."""

    def plan(self, request: Request) -> Callable[[], Any]:
        """Prepare everything; calling the result walks and returns the walks, or their number of steps."""


class Efge:
    """efge's batches of walks, each discarded before the next; shuffling the starts is timed too."""

    def __init__(self, graph: Graph, threads: int) -> None:
        import efge

        self.graph = efge.Graph(graph.indptr, graph.indices)
        self.threads = threads

    def plan(self, request: Request) -> Callable[[], int]:
        import efge

        walks = efge.Walks(
            self.graph,
            efge.UniformWalk() if request.first_order else efge.Node2VecWalk(request.p, request.q),
            walks_per_node=request.walks_per_node,
            walk_length=request.walk_length,
            seed=request.seed,
            threads=self.threads,
        )
        return lambda: sum(len(batch.nodes) - len(batch) for batch in walks.batches())


class Grape:
    """grape's ``complete_walks``, whose rows are walks of ``walk_length`` nodes."""

    def __init__(self, graph: Graph, threads: int) -> None:
        import ensmallen
        import pandas as pd

        names = np.arange(graph.degrees.size).astype(str).astype(object)
        sources, targets = graph.edges()
        self.graph = ensmallen.Graph.from_pd(
            edges_df=pd.DataFrame({"subject": names[sources], "object": names[targets]}, dtype=object),
            nodes_df=pd.DataFrame({"name": names}, dtype=object),
            directed=False,
        )
        self.graph.enable(vector_sources=True, vector_reciprocal_sqrt_degrees=False)

    def plan(self, request: Request) -> Callable[[], Walks]:
        return lambda: self.graph.complete_walks(
            walk_length=request.walk_length,
            iterations=request.walks_per_node,
            return_weight=1 / request.p,
            explore_weight=1 / request.q,
            max_neighbours=ALL_NEIGHBORS,
            random_state=request.seed,
        )


class Csrgraph:
    """The compiled loops behind csrgraph's ``random_walks``, which normalizes the graph at every call."""

    def __init__(self, graph: Graph, threads: int) -> None:
        from csrgraph import csrgraph
        from scipy.sparse import csr_matrix

        nodes = graph.degrees.size
        ones = np.ones(graph.indices.size, dtype=np.float32)
        matrix = csr_matrix((ones, graph.indices, graph.indptr), shape=(nodes, nodes))
        # Left to its default, csrgraph overrules NUMBA_NUM_THREADS.
        normalized = csrgraph(matrix, threads=threads).normalize()
        self.arrays = normalized.weights, normalized.src, normalized.dst
        self.graph = graph

    def plan(self, request: Request) -> Callable[[], Walks]:
        from csrgraph.random_walks import _node2vec_walks, _random_walk

        task = *self.arrays, self.graph.starts(request.walks_per_node), request.walk_length
        if request.first_order:
            return lambda: _random_walk(*task)
        # Whatever its docstring says, csrgraph weighs the way back and the common neighbors, and leaves the
        # far nodes at 1: hence node2vec's weights (1/p, 1, 1/q), all times q.
        return lambda: _node2vec_walks(*task, request.q / request.p, request.q)


class Fastnode2vec:
    """fastnode2vec's compiled walk, called from a compiled loop; its own loop is Python's, one walk per call.

    The package numbers the nodes in the order of its edges, and walks in as many threads as it trains.
    """

    def __init__(self, graph: Graph, threads: int) -> None:
        import fastnode2vec

        sources, targets = graph.edges()
        edges = zip(sources.tolist(), targets.tolist(), strict=True)
        self.graph = fastnode2vec.Graph(edges, directed=False, weighted=False, verbose=False)
        self.walk_all = compiled_fastnode2vec_loop()

    def plan(self, request: Request) -> Callable[[], Any]:
        starts = np.tile(np.arange(len(self.graph.node_names)), request.walks_per_node)
        if request.documented:
            settings = request.walk_length, request.p, request.q
            return lambda: [self.graph.generate_random_walk(*settings, start) for start in starts]
        arrays = self.graph.indptr, self.graph.indices
        return lambda: self.walk_all(*arrays, starts, request.walk_length, request.p, request.q)


def compiled_fastnode2vec_loop() -> Callable[..., Walks]:
    """Compiled on demand, since numba must not be imported before the number of threads is set."""
    import numba
    from fastnode2vec.graph import _random_walk

    @numba.njit(parallel=True, nogil=True)
    def walk_all(indptr, indices, starts, walk_length, p, q):  # type: ignore[no-untyped-def]
        walks = np.empty((starts.size, walk_length), dtype=indices.dtype)
        for row in numba.prange(starts.size):
            walks[row] = _random_walk(indptr, indices, walk_length, p, q, starts[row])
        return walks

    return walk_all


class Pecanpy:
    """The compiled loop of pecanpy's ``simulate_walks``, in the fastest mode that fits in memory."""

    def __init__(self, graph: Graph, threads: int) -> None:
        self.graph = graph
        self.modes: dict[tuple[float, float], Any] = {}

    def plan(self, request: Request) -> Callable[[], Any]:
        from numba_progress import ProgressBar

        mode, has_neighbors, step = self._mode(request)
        starts = self.graph.starts(request.walks_per_node).astype(np.uint32)
        # As pecanpy does itself.
        np.random.default_rng(request.seed).shuffle(starts)
        transitions = request.walk_length - 1
        if request.documented:
            return lambda: mode.simulate_walks(request.walks_per_node, transitions)

        def walk() -> Walks:
            with ProgressBar(total=starts.size, disable=True) as progress:
                rows = mode._random_walks(starts.size, transitions, request.seed, starts, has_neighbors, step, progress)
            # The last column holds the number of nodes of the walk.
            return rows[:, :-1]  # type: ignore[no-any-return]

        return walk

    def _mode(self, request: Request) -> Any:
        """Return the mode for these p and q with its step functions, cached: new functions would be compiled again."""
        key = request.p, request.q
        if key not in self.modes:
            mode = self._mode_class(request)(p=request.p, q=request.q)
            mode.indptr = self.graph.indptr.astype(np.uint32)
            mode.indices = self.graph.indices.astype(np.uint32)
            mode.data = np.ones(self.graph.indices.size, dtype=np.float32)
            mode.set_node_ids(list(map(str, range(self.graph.degrees.size))))
            mode.preprocess_transition_probs()
            self.modes[key] = mode, mode.get_has_nbrs(), mode.get_move_forward()
        return self.modes[key]

    def _mode_class(self, request: Request) -> Any:
        from pecanpy import pecanpy

        if request.first_order:
            return pecanpy.FirstOrderUnweighted
        table_bytes = 8 * int((self.graph.degrees**2).sum())
        return pecanpy.PreComp if table_bytes <= TABLE_BYTES else pecanpy.SparseOTF


PEERS: dict[str, Callable[[Graph, int], Peer]] = {
    "efge": Efge,
    "grape": Grape,
    "csrgraph": Csrgraph,
    "fastnode2vec": Fastnode2vec,
    "pecanpy": Pecanpy,
}


def load(path: str) -> Graph:
    with np.load(path) as arrays:
        return Graph(arrays["indptr"], arrays["indices"])


def steps_of(walks: Any) -> int:
    """Count the transitions of walks in an array or in lists; an integer is a count already."""
    if isinstance(walks, np.ndarray):
        return int(walks.shape[0] * (walks.shape[1] - 1))
    return walks if isinstance(walks, int) else sum(len(walk) - 1 for walk in walks)
