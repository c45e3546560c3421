"""An estimate of the memory that a training will take, before it takes any."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from efge.errors import check_positive_integers
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph
from efge.models.efge import EFGE
from efge.training.learning_rate import MAX_WALKS_PER_NODE
from efge.training.tables import padded_width, starts_from_factors
from efge.walks.strategies import Node2VecWalk, UniformWalk
from efge.walks.walks import batch_positions

# Python, the libraries and the compiled code; and what training needs besides, at most: copies of rows for the blocks
# of a round; and for each position of a batch, walks that are being made, planned, and trained on. Measured by
# benchmarks/memory.py.
_PROGRAM_BYTES, _ROUND_BYTES, _BYTES_PER_POSITION = 185e6, 16e6, 31
# Tables, and bytes per neighbor of a node, while a start from factors of the edges is computed: the two tables of
# vectors, two of factors, and those of the singular value decomposition. Measured by tracemalloc.
_START_TABLES, _START_BYTES_PER_NEIGHBOR = 8, 40
# Bytes per entry of the matrices of a filter, which has a row and a column for each dimension. Measured by the peak of
# the process.
_FILTER_BYTES = 50
# Bytes per edge of a text file while it is read, by the type of the names.
_READING_BYTES = {"integers": 38, "words": 53}


class Memory(NamedTuple):
    """Estimated memory of a training, in bytes.

    Attributes
    ----------
    program : int
        Python, libraries and compiled code.
    graph, walks, tables : int
        The graph, everything needed to make walks, and the tables of vectors, with what it takes to fill and filter
        them.
    reading : int
        Peak while a graph is read from text; it is over when training begins.
    mapped : int
        Bytes in files, which the system can remove from memory whenever it needs to.

    Examples
    --------
    >>> Memory(program=200, graph=10, walks=5, tables=80, reading=40, mapped=0).peak
    295
    """

    program: int
    graph: int
    walks: int
    tables: int
    reading: int
    mapped: int

    @property
    def peak(self) -> int:
        """Largest number of bytes in use at one time.

        Examples
        --------
        >>> Memory(program=200, graph=10, walks=5, tables=80, reading=400, mapped=0).peak
        600
        """
        return self.program + max(self.reading, self.graph + self.walks + self.tables)


class _GraphSize(NamedTuple):
    """The quantities of a graph on which memory depends."""

    nodes: int
    entries: int  # neighbors in memory: each edge once or twice
    edges: int  # edges that are read from text
    weighted: bool
    name_bytes: int
    integer_names: bool

    @property
    def index_bytes(self) -> int:
        """Bytes of a node's number."""
        return 4 if self.nodes < 2**31 else 8


def estimate_memory(
    graph: Any = None,
    model: Any = None,
    *,
    nodes: int | None = None,
    edges: int | None = None,
    weighted: bool = False,
    directed: bool = False,
    mmap: bool = False,
) -> Memory:
    """Estimate the memory that training on random walks takes, for a graph or for given numbers of nodes and edges.

    Parameters
    ----------
    graph : Graph, or anything :func:`efge.as_graph` takes, optional
        Without it, `nodes`, `edges`, `weighted` and `directed` describe a graph whose names are integers.
    model : EFGE, DeepWalk or Node2Vec, optional
        By default, EFGE with its default parameters.
    nodes, edges : int, optional
        Numbers of nodes and edges.
    weighted, directed : bool
        Whether edges have weights and directions.
    mmap : bool
        Whether the tables of vectors are in memory-mapped files.

    Returns
    -------
    Memory
        Bytes by purpose; `peak` is the largest number in use at one time.

    Examples
    --------
    >>> import efge
    >>> efge.estimate_memory(nodes=1_000_000, edges=5_000_000).tables
    1536819200
    >>> efge.estimate_memory(nodes=1_000_000, edges=5_000_000, model=efge.EFGE.paper(dim=32)).tables
    256000000
    """
    model = EFGE() if model is None else model
    if not hasattr(model, "walk_length"):
        raise ValueError(f"memory can be estimated for models that learn from walks only; got {type(model).__name__}")
    for name, flag in (("weighted", weighted), ("directed", directed), ("mmap", mmap)):
        if not isinstance(flag, bool):
            raise TypeError(f"{name} is True or False; got {flag!r}")
    check_positive_integers(dim=model.dim)
    graph = None if graph is None else as_graph(graph)
    size = _given_size(nodes, edges, weighted, directed) if graph is None else _graph_size(graph)
    graph_bytes = _graph_bytes(size)
    is_directed = directed if graph is None else graph.directed
    if is_directed and isinstance(model, EFGE) and not model.follow_directions:
        # Walks have a graph of their own, in which each edge leads both ways.
        size = size._replace(entries=2 * size.entries)
        graph_bytes += _graph_bytes(size)
    # Centers, contexts, and filtered vectors if there are any.
    filtered = isinstance(model, EFGE) and model._filter_method() is not None
    n_tables = 3 if filtered else 2
    matrices = _FILTER_BYTES * int(model.dim) ** 2 if filtered else 0
    tables = n_tables * 4 * size.nodes * padded_width(model.dim)
    start = 0 if graph is None else _start_bytes(graph, model, max(size.entries, len(graph.indices)))
    # Of partitioned tables, two partitions of each are in memory.
    partitions = getattr(model, "partitions", None)
    in_memory = 0 if mmap else tables if partitions is None else min(tables, 2 * tables // partitions)
    return Memory(
        program=round(_PROGRAM_BYTES),
        graph=graph_bytes + size.name_bytes,
        walks=_walk_bytes(size, model),
        tables=max(in_memory + matrices, start),
        reading=_READING_BYTES["integers" if size.integer_names else "words"] * size.edges + size.name_bytes,
        mapped=tables if in_memory < tables else 0,
    )


def _graph_bytes(size: _GraphSize) -> int:
    """Return the bytes of offsets, neighbors and weights."""
    return 8 * size.nodes + (size.index_bytes + (8 if size.weighted else 0)) * size.entries


def _start_bytes(graph: Graph, model: Any, entries: int) -> int:
    """Return the bytes of tables and temporary arrays while initial vectors are computed from factors of the edges."""
    if not isinstance(model, EFGE) or not starts_from_factors(graph, model._family(), model._settings()):
        return 0
    table = 4 * graph.n_nodes * padded_width(model.dim)
    return _START_TABLES * table + _START_BYTES_PER_NEIGHBOR * entries


def _given_size(nodes: int | None, edges: int | None, weighted: bool, directed: bool) -> _GraphSize:
    check_positive_integers(nodes=nodes, edges=edges)
    if nodes is None or edges is None:
        raise ValueError("give a graph, or both nodes= and edges=")
    return _GraphSize(nodes, edges if directed else 2 * edges, edges, weighted, 8 * nodes, integer_names=True)


def _graph_size(graph: Graph) -> _GraphSize:
    # Of a graph on disk, only what belongs to nodes has to be in memory.
    entries, edges = (len(graph.indices), graph.n_edges) if graph._file is None else (0, 0)
    integer_names = graph.names.dtype != object
    return _GraphSize(graph.n_nodes, entries, edges, graph.is_weighted, _name_bytes(graph), integer_names)


def _walk_bytes(size: _GraphSize, model: Any) -> int:
    """Return the bytes that it takes to make walks, and to draw negative samples."""
    # Walkers have their own offsets and neighbors, and alias tables of weighted neighbors; training counts visits and
    # has alias tables of negative samples; and there is a random order of all nodes.
    strategy = model._strategy()
    by_weight = size.weighted and not isinstance(strategy, UniformWalk) and strategy != "uniform"
    per_entry = size.index_bytes + (16 if by_weight else 0)
    per_node = 2 * 8 + 2 * 4 + 2 * size.index_bytes + (8 if by_weight else 0)
    walks = (4 if size.entries < 2**32 else 8) * size.nodes + per_entry * size.entries + per_node * size.nodes
    # Second-order walks have an edge filter with four bits for each neighbor.
    walks += size.entries // 2 if isinstance(strategy, Node2VecWalk) and strategy.q != 1 else 0
    walks_per_node = MAX_WALKS_PER_NODE if model.walks_per_node == "auto" else model.walks_per_node
    check_positive_integers(walks_per_node=walks_per_node)
    in_progress: float = 40.0 * size.nodes * walks_per_node * model.walk_length
    return walks + round(min(_ROUND_BYTES + _BYTES_PER_POSITION * batch_positions(size.nodes), in_progress))


def _name_bytes(graph: Graph) -> int:
    if graph.names.dtype != object:
        return int(graph.names.nbytes)
    sample = graph.names[:: max(1, len(graph.names) // 1000)].tolist()
    return int(len(graph.names) * (8 + np.mean([sys.getsizeof(name) for name in sample] or [0])))
