"""What a benchmark compares: estimators, functions, given vectors, and rows that no model has to learn."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import efge
from efge.embedding.embedding import Embedding
from efge.errors import EvaluationError
from efge.families.builtin import FAMILIES
from efge.graph.graph import Graph

TASKS = ("classification", "links")
DIM = 128
# How a model is run does not change what it learns.
_EXECUTION_PARAMETERS = ("seed", "threads")


def library_methods() -> dict[str, Any]:
    """Return the models of the library under their names on the command line, and EFGE as it is by default.

    BigClam would take long to choose the number of communities; here it has as many as other vectors have dimensions.

    Examples
    --------
    >>> methods = library_methods()
    >>> methods["default"], methods["normal"]
    (EFGE(), EFGE(family='normal'))
    """
    families = {name: efge.EFGE(name) for name in FAMILIES}
    families |= {f"efge-{name[:4]}": efge.EFGE.paper(name) for name in ("bernoulli", "poisson", "normal")}
    baselines = (efge.DeepWalk, efge.Node2Vec, efge.LINE, efge.HOPE, efge.NetMF, efge.ProNE)
    models = {model.__name__.lower(): model() for model in baselines}
    return {"default": efge.EFGE(), **families, **models, "bigclam": efge.BigClam(DIM)}


class MajorityClass:
    """Vectors that say nothing: a classifier of them predicts the most frequent classes.

    Examples
    --------
    >>> MajorityClass()(efge.as_graph([(0, 1)]), seed=0).vectors
    array([[0.], [0.]], dtype=float32)
    """

    def __call__(self, graph: Graph, seed: int) -> Embedding:
        """Return a zero for each node."""
        return Embedding(np.zeros((graph.n_nodes, 1)), graph.names)

    def __repr__(self) -> str:
        return "MajorityClass()"


@dataclass(frozen=True)
class Contender:
    """A row of the tables.

    Attributes
    ----------
    name : str
    source : estimator, function of a graph and a seed, Embedding, or name of a heuristic
    tasks : tuple of str
        The tasks that it can be scored by.
    ranked : bool
        Whether it takes part in the ranks; rows that are there for orientation do not.

    Examples
    --------
    >>> Contender("skip-gram", efge.EFGE("bernoulli", dim=64, seed=3)).description[:40]
    "EFGE(dim=64, epochs=1, family='bernoulli"
    """

    name: str
    source: Any
    tasks: tuple[str, ...] = TASKS
    ranked: bool = True

    @property
    def description(self) -> str:
        """What the vectors depend on, besides graph and seed: two contenders with the same one have the same scores."""
        source = self.source
        if hasattr(source, "get_params"):
            parameters = sorted(source.get_params().items())
            settings = [f"{name}={value!r}" for name, value in parameters if name not in _EXECUTION_PARAMETERS]
            return f"{type(source).__name__}({', '.join(settings)})"
        if isinstance(source, Embedding):
            digest = hashlib.sha256(np.ascontiguousarray(source.vectors).tobytes())
            digest.update(repr(source.names.tolist()).encode())
            return f"vectors {digest.hexdigest()}"
        if hasattr(source, "__qualname__"):
            return f"{source.__module__}.{source.__qualname__}"
        return repr(source)

    def embed(self, graph: Graph, seed: int, threads: int | None) -> Embedding:
        """Return the vectors of a graph's nodes, in the graph's order."""
        if isinstance(self.source, Embedding):
            return align(self.source, graph)
        if not hasattr(self.source, "get_params"):
            found = self.source(graph, seed)
            return align(found, graph) if isinstance(found, Embedding) else Embedding(found, graph.names)
        from sklearn.base import clone

        model = clone(self.source)
        execution = {"seed": seed, "threads": threads}
        model.set_params(**{name: value for name, value in execution.items() if name in model.get_params()})
        fitted: Embedding = model.fit(graph).embedding_
        return fitted


def align(embedding: Embedding, graph: Graph) -> Embedding:
    """Return the vectors in the order of a graph's nodes; a node without a vector gets zeros.

    Examples
    --------
    >>> align(Embedding([[1.0], [2.0]], ["b", "c"]), efge.as_graph([("a", "b")])).vectors
    array([[0.], [1.]], dtype=float32)
    """
    if embedding.names.tolist() == graph.names.tolist():
        return embedding
    rows = embedding._index.rows(graph.names.tolist())
    if not (rows >= 0).any():
        raise EvaluationError(f"no node of {graph!r} has a vector in {embedding!r}")
    vectors = np.where((rows >= 0)[:, None], embedding.vectors[rows], np.float32(0))
    return Embedding(vectors, graph.names)


REFERENCES = (
    Contender("majority class", MajorityClass(), ("classification",), ranked=False),
    Contender("preferential attachment", "preferential-attachment", ("links",), ranked=False),
    Contender("katz index", "katz", ("links",), ranked=False),
)


def make_contenders(
    methods: Mapping[str, Any | Callable[..., Any]], embeddings: Mapping[str, Embedding]
) -> list[Contender]:
    """Return the rows of a network's table; raise if a name is there twice, or a method is neither kind.

    Given vectors have seen all edges, so that they cannot be scored by links.

    Examples
    --------
    >>> [row.name for row in make_contenders({"hope": efge.HOPE()}, {"mine.npz": Embedding([[1.0]])})]
    ['hope', 'mine.npz', 'majority class', 'preferential attachment', 'katz index']
    """
    for name, method in methods.items():
        if not (hasattr(method, "get_params") or callable(method)):
            raise EvaluationError(f"{name}: a method is an estimator, or a function of a graph and a seed; {method!r}")
    learned = [Contender(name, method) for name, method in methods.items()]
    given = [Contender(name, embedding, ("classification",)) for name, embedding in embeddings.items()]
    rows = [*learned, *given, *REFERENCES]
    names = [row.name for row in rows]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise EvaluationError(f"methods and vectors need different names; {twice!r} is there twice")
    return rows
