"""Exponential family graph embeddings: any graph in, vectors for its nodes out, under their own names.

Examples
--------
>>> import efge
>>> graph = efge.as_graph([("a", "b"), ("b", "c")])
>>> graph
Graph(3 nodes, 2 edges, undirected, unweighted, 0 isolated)
>>> walks = efge.Walks(graph, walks_per_node=1, walk_length=3, seed=0)
>>> len(walks)
3
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from efge.errors import GraphError
    from efge.graph import Graph
    from efge.inputs import as_graph
    from efge.readers import read_graph
    from efge.walks import CorpusWalk, Node2VecWalk, UniformWalk, Walks, WeightedWalk

# Where each public name lives; a module is imported when one of its names is first used, so that `import efge` and
# `efge --help` answer at once.
_HOMES = {
    "Graph": "graph",
    "GraphError": "errors",
    "as_graph": "inputs",
    "read_graph": "readers",
    "CorpusWalk": "walks",
    "Node2VecWalk": "walks",
    "UniformWalk": "walks",
    "Walks": "walks",
    "WeightedWalk": "walks",
}

__all__ = [
    "CorpusWalk",
    "Graph",
    "GraphError",
    "Node2VecWalk",
    "UniformWalk",
    "Walks",
    "WeightedWalk",
    "__version__",
    "as_graph",
    "read_graph",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'efge' has no attribute {name!r}")
    return getattr(import_module(f"efge.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
