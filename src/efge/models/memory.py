"""How much memory a training will take, before it takes any."""

from __future__ import annotations

import math
import sys
from typing import Any, NamedTuple

import numpy as np

from efge.errors import check_counts
from efge.graph.graph import Graph
from efge.kernels.simd import CHUNK
from efge.models.efge import EFGE
from efge.walks.strategies import Node2VecWalk, UniformWalk

# Python, the libraries and the compiled code; what training needs besides for any graph at most: copies of a round's
# blocks, walks that are made and walks that are trained on. Measured by benchmarks/memory.py.
_PROGRAM, _ROUNDS = 185e6, 60e6
# Bytes an edge of a text file takes while it is read, by the type of its names.
_READING = {"integers": 38, "words": 53}


class Memory(NamedTuple):
    """Bytes that a training takes: for what, and at the peak.

    `mapped` are in files that the system reads and writes as it needs them, and take no memory that others could not
    have; `reading` is the peak while a graph is read from text, which is over when training begins.

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
        """The most that is taken at one time.

        Examples
        --------
        >>> Memory(program=200, graph=10, walks=5, tables=80, reading=400, mapped=0).peak
        600
        """
        return self.program + max(self.reading, self.graph + self.walks + self.tables)


def estimate_memory(
    graph: Graph | None = None,
    model: Any = None,
    *,
    nodes: int | None = None,
    edges: int | None = None,
    weighted: bool = False,
    directed: bool = False,
    mmap: bool = False,
) -> Memory:
    """The memory that a model which learns from walks will take on a graph, or on one of that many nodes and edges.

    Parameters
    ----------
    graph : Graph, optional
        If not given, `nodes`, `edges`, `weighted` and `directed` say what it is like; names are integers then.
    model : EFGE, DeepWalk or Node2Vec, optional
        By default, EFGE with its defaults.
    nodes, edges : int, optional
    weighted, directed : bool
    mmap : bool
        Whether the tables of vectors are in mapped files.

    Examples
    --------
    >>> import efge
    >>> efge.estimate_memory(nodes=1_000_000, edges=5_000_000).tables
    1024000000
    >>> efge.estimate_memory(nodes=1_000_000, edges=5_000_000, model=efge.EFGE(dim=32)).tables
    256000000
    """
    model = EFGE() if model is None else model
    if not hasattr(model, "walk_length"):
        raise ValueError(f"memory is known before for models that learn from walks; {type(model).__name__} does not")
    if graph is None:
        check_counts(nodes=nodes, edges=edges)
        if nodes is None or edges is None:
            raise ValueError("give a graph, or numbers of nodes and edges")
        count, entries, names = nodes, edges if directed else 2 * edges, 8 * nodes
    else:
        weighted, count, names = graph.is_weighted, graph.n_nodes, _size_of_names(graph)
        # Of a graph on disk, only what is known of each node has to be in memory.
        entries, edges = (len(graph.indices), graph.n_edges) if graph._file is None else (0, 0)
    number = 4 if count < 2**31 else 8
    width = math.ceil(model.dim / CHUNK) * CHUNK
    tables = 2 * 4 * count * width
    # Of tables in partitions, two parts of each are in memory.
    parts = getattr(model, "partitions", None)
    in_memory = 0 if mmap else tables if parts is None else min(tables, 2 * tables // parts)
    # Walkers have rows and neighbors of their own, and tables to draw weighted neighbors by; training has visits, and
    # tables to draw negatives by; and there is a pass over all nodes in random order.
    strategy = model._strategy()
    by_weight = weighted and not isinstance(strategy, UniformWalk) and strategy != "uniform"
    walks = (4 if entries < 2**32 else 8) * count + (number + (16 if by_weight else 0)) * entries
    walks += (2 * 8 + 2 * 4 + 2 * number + (8 if by_weight else 0)) * count
    # Walks of second order ask four bits for each neighbor whether there may be an edge.
    walks += entries // 2 if isinstance(strategy, Node2VecWalk) and strategy.q != 1 else 0
    kind = "integers" if graph is None or graph.names.dtype != object else "words"
    return Memory(
        program=round(_PROGRAM),
        graph=8 * count + (number + (8 if weighted else 0)) * entries + names,
        walks=walks + round(min(_ROUNDS, 40.0 * count * model.walks_per_node * model.walk_length)),
        tables=in_memory,
        reading=_READING[kind] * edges + names,
        mapped=tables if in_memory < tables else 0,
    )


def _size_of_names(graph: Graph) -> int:
    if graph.names.dtype != object:
        return int(graph.names.nbytes)
    some = graph.names[:: max(1, len(graph.names) // 1000)].tolist()
    return int(len(graph.names) * (8 + np.mean([sys.getsizeof(name) for name in some] or [0])))
