"""Exponential family graph embeddings: learn a vector for each node of a graph, under the node's own name.

The public names are listed once, in ``__init__.pyi``. Each is imported when it is first used, which keeps
``import efge`` and ``efge --help`` fast.

Examples
--------
>>> import efge
>>> graph = efge.as_graph([("a", "b"), ("b", "c")])
>>> graph
Graph(3 nodes, 2 edges, undirected, unweighted, 0 isolated)
>>> model = efge.EFGE(dim=16, seed=0).fit(graph)
>>> model.embedding_["a"].shape
(16,)
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
