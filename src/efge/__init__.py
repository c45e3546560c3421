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

from __future__ import annotations

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Read the list of public names when one is first used; until then, importing this package takes next to no time.

    The shorter the time in which a command is not yet ready for an interrupt, the better.
    """
    import lazy_loader

    attach, list_names, names = lazy_loader.attach_stub(__name__, __file__)

    def find(name: str) -> object:
        if name not in names:
            from efge.errors import did_you_mean

            raise AttributeError(f"module {__name__!r} has no attribute {name!r}{did_you_mean(name, names)}")
        return attach(name)

    globals().update(__getattr__=find, __dir__=list_names, __all__=names)
    return names if name == "__all__" else find(name)


def __dir__() -> list[str]:
    return list(__getattr__("__all__"))  # type: ignore[call-overload]
