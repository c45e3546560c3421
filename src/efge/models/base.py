"""What all estimators share: scikit-learn's conventions, any graph as input, an embedding as the result.

scikit-learn itself is imported only when it is needed: importing it takes longer than embedding a small graph.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sized
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from efge import display
from efge.embedding.embedding import Embedding
from efge.errors import check_choice, did_you_mean
from efge.graph.graph import Graph
from efge.graph.inputs import as_graph_like
from efge.models.diagnostics import Diagnostics
from efge.models.files import read_model, write_model

if TYPE_CHECKING:
    from efge.families.base import Family

AnyEmbedder = TypeVar("AnyEmbedder", bound="NodeEmbedder")

# What a pipeline with a graph as its data is meant to be.
_NODES_AS_ROWS = (
    "; for labels of some nodes, call make_pipeline(NodeFeatures(graph, EFGE()), LogisticRegression()).fit(nodes, y)"
)


@cache
def _constructor_defaults(constructor: Callable[..., None]) -> dict[str, Any]:
    """Return the parameters of a constructor and their defaults; studies ask for them hundreds of times."""
    _, *parameters = inspect.signature(constructor).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters}


class NodeEmbedder:
    """Base class of estimators whose `fit` takes a graph and stores the vectors of its nodes as `embedding_`.

    It follows scikit-learn's conventions, so that ``clone`` and pipelines work. Cross-validation and searches split the
    rows of their data, and a graph has none: they take nodes as rows, see :class:`efge.NodeFeatures`.

    Examples
    --------
    >>> import efge
    >>> isinstance(efge.EFGE(), NodeEmbedder)
    True
    """

    embedding_: Embedding
    diagnostics_: Diagnostics
    fit: Callable[..., Any]

    @classmethod
    def _default_params(cls) -> dict[str, Any]:
        """Return the constructor's parameters and their defaults, in order."""
        return dict(_constructor_defaults(cls.__init__))

    def __new__(cls: type[AnyEmbedder], *args: Any, **params: Any) -> AnyEmbedder:
        """Refuse a parameter that the constructor does not have, and name the nearest one."""
        known = inspect.signature(cls.__init__).parameters
        takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values())
        unknown = [] if takes_any else [name for name in params if name not in known]
        if unknown:
            raise TypeError(cls._explain_unknown(unknown[0]))
        return object.__new__(cls)

    @classmethod
    def _explain_unknown(cls, name: str) -> str:
        known = cls._default_params()
        return f"{cls.__name__} has no parameter {name!r}; it has {', '.join(known)}{did_you_mean(name, known)}"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool
            Ignored, as no parameter is an estimator.

        Examples
        --------
        >>> import efge
        >>> efge.HOPE(dim=8).get_params()
        {'dim': 8, 'beta': None, 'seed': None}
        """
        return {name: getattr(self, name) for name in self._default_params()}

    def set_params(self: AnyEmbedder, **params: Any) -> AnyEmbedder:
        """Set parameters by name, and return the estimator itself.

        Examples
        --------
        >>> import efge
        >>> efge.EFGE().set_params(dim=16)
        EFGE(dim=16)
        """
        known = self._default_params()
        for name, value in params.items():
            if name not in known:
                raise ValueError(self._explain_unknown(name))
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        params = {name: (repr(getattr(self, name)), repr(default)) for name, default in self._default_params().items()}
        changed = [f"{name}={value}" for name, (value, default) in params.items() if value != default]
        return f"{type(self).__name__}({', '.join(changed)})"

    def _repr_html_(self) -> str:
        """Return the parameters and, of a fitted model, its diagnostics and history, for notebooks."""
        parts = [display.table(self.get_params().items(), ("parameter", "value"))]
        if hasattr(self, "embedding_"):
            fitted = [("embedding_", repr(self.embedding_)), *self.diagnostics_.to_dict().items()]
            parts.append(display.table(fitted, ("after fit", "")))
            history = getattr(self, "history_", {})
            title = "log-likelihood of held-out pairs" if "pairs" in history else "log-likelihood, sweep by sweep"
            parts.append(display.line(history.get("log_likelihood", ()), title))
        return display.card(repr(self), *parts)

    if not TYPE_CHECKING:  # a type checker would conclude that every attribute exists

        def __getattr__(self, name):
            if name in ("score_pairs", "recommend"):
                known = "EFGE, Node2Vec and LINE do"
                raise AttributeError(f"{type(self).__name__} gives pairs of nodes no probability to score; {known}")
            if name == "partial_fit":
                raise AttributeError(f"{type(self).__name__} cannot be updated; EFGE and Node2Vec can")
            if name.endswith("_") and not name.startswith("_") and "embedding_" not in vars(self):
                raise AttributeError(f"this {type(self).__name__} has no {name} yet; call fit with a graph first")
            if name == "drift_":
                raise AttributeError(f"this {type(self).__name__} has no drift_ yet; partial_fit measures it")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def _check_fitted(self) -> None:
        if not hasattr(self, "embedding_"):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit with a graph first")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a file, from which :meth:`load` restores it.

        The file holds the parameters, both tables of vectors, the names of the nodes and the other fitted attributes
        as plain arrays and JSON. It appears only when it is complete, and the same estimator gives the same bytes. A
        family of your own is not part of it, nor are the walks of a :class:`efge.CorpusWalk` in memory.

        Parameters
        ----------
        path : path, or "-" for standard output
            Any name; the format is npz, whatever the suffix.

        Raises
        ------
        EmbeddingError
            If names are not numbers, text, or tuples of these.

        Examples
        --------
        >>> import efge, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "model.npz")
        >>> efge.EFGE(dim=4, seed=0).fit([("a", "b"), ("b", "c")]).save(path)
        >>> efge.EFGE.load(path)
        EFGE(dim=4, seed=0)
        """
        self._check_fitted()
        write_model(path, self)

    @classmethod
    def load(cls: type[AnyEmbedder], path: str | os.PathLike[str], *, family: Family | None = None) -> AnyEmbedder:
        """Read a fitted estimator that :meth:`save` wrote.

        Call it on the estimator's own class, or on `NodeEmbedder`, which reads all of them.

        Parameters
        ----------
        path : path, or "-" for standard input
        family : Family, optional
            The family of the model if it is your own: a file cannot contain it.

        Raises
        ------
        EmbeddingError
            If the file is damaged, of another format or of another estimator, or if it needs a family.

        Examples
        --------
        >>> import efge, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "model.npz")
        >>> model = efge.HOPE(dim=2, seed=0).fit([("a", "b"), ("b", "c")])
        >>> model.save(path)
        >>> efge.NodeEmbedder.load(path).embedding_ == model.embedding_
        True
        """
        return read_model(path, cls, family)

    def set_output(self: AnyEmbedder, *, transform: str | None = None) -> AnyEmbedder:
        """Choose what `transform` and `fit_transform` return.

        Parameters
        ----------
        transform : "pandas", "polars", "default" or None
            Data frames of pandas or polars, or NumPy arrays by default. None changes nothing.

        Examples
        --------
        >>> import efge
        >>> efge.EFGE(dim=2, seed=0).set_output(transform="pandas").fit_transform([("a", "b")]).columns.tolist()
        ['efge0', 'efge1']
        """
        if transform is not None:
            check_choice("transform", transform, ("default", "pandas", "polars"))
            self._sklearn_output_config = {"transform": transform}
        return self

    def _as_output(self, vectors: npt.NDArray[np.float32]) -> Any:
        """Convert vectors to the container that this estimator, or scikit-learn as a whole, is configured for."""
        kind = getattr(self, "_sklearn_output_config", {}).get("transform")
        if kind is None and "sklearn" in sys.modules:
            kind = sys.modules["sklearn"].get_config()["transform_output"]
        if kind == "pandas":
            import pandas as pd

            return pd.DataFrame(vectors, columns=self.get_feature_names_out())
        if kind == "polars":
            import polars as pl

            return pl.DataFrame(vectors, schema=self.get_feature_names_out().tolist())
        return vectors

    def _as_graph(self, X: Any) -> Graph:  # noqa: N803
        return as_graph_like(X, self.embedding_.names)

    def transform(self, X: Any, method: str = "auto") -> npt.NDArray[np.float32]:  # noqa: N803
        """Return the vectors of a graph's nodes, new ones among them, in the graph's order.

        Nodes that were in the graph that was fitted keep their vectors to the byte. Those of new nodes follow from
        their edges, to old nodes and among each other; the estimator stays as it is. A new node that no path links to
        an old one gets zeros. Nodes that had no edges when EFGE or Node2Vec was fitted have random vectors, and count
        only for new nodes that no path links to others. The same estimator and graph give the same bytes, at any
        number of threads.

        Parameters
        ----------
        X : Graph, or anything :func:`efge.as_graph` takes
            The graph that has grown, or only its new edges: walks then have fewer ways.
        method : str
            How vectors of new nodes are computed; "auto" is the first one that the estimator has.

            - "both": "fold-in", then "average" with that vector as half a neighbor. EFGE, Node2Vec.
            - "fold-in": gradient ascent of the estimator's own likelihood on walks from the new node, with the vectors
              of contexts as they are. EFGE, Node2Vec.
            - "average": the mean direction and the mean length of the vectors of neighbors, old and new, ten times.
              Edges count in both directions, with their weights. All estimators but HOPE, NetMF and BigClam.
            - "projection": the vector that explains the node's row of the factored matrix best. HOPE, and NetMF, which
              needs the whole graph.

        Raises
        ------
        GraphError
            If there are new nodes but no old one, if names are of another type, or if directions differ.

        Examples
        --------
        >>> import efge
        >>> model = efge.EFGE(dim=4, seed=0).fit([("a", "b"), ("b", "c"), ("c", "a")])
        >>> vectors = model.transform([("b", "a"), ("new", "a")])
        >>> vectors.shape
        (3, 4)
        >>> bool((vectors[0] == model.embedding_["b"]).all())
        True
        """
        from efge.models.new_nodes import transform_graph

        self._check_fitted()
        if not isinstance(method, str):
            raise TypeError(f"method is the name of a method, such as 'auto'; got {method!r}")
        vectors: npt.NDArray[np.float32] = self._as_output(transform_graph(self, self._as_graph(X), method))
        return vectors

    def _new_node_methods(self) -> tuple[str, ...]:
        """Return the methods for vectors of new nodes, the default first."""
        return ("average",)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> npt.NDArray[np.float32]:  # noqa: N803
        """Learn the vectors of a graph's nodes, and return them in the graph's order.

        Examples
        --------
        >>> import efge
        >>> efge.EFGE(dim=4, seed=0).fit_transform([("a", "b"), ("b", "c")]).shape
        (3, 4)
        """
        known = [name for name in inspect.signature(self.fit).parameters if name not in ("X", "y")]
        for name in fit_params:
            check_choice("option of fit", name, known)
        if isinstance(y, Mapping):
            raise TypeError(
                f"y has a label for each node, in the graph's order; got {type(y).__name__}{_NODES_AS_ROWS}"
            )
        embedding = self.fit(X, y, **fit_params).embedding_
        if isinstance(y, Sized) and len(y) != len(embedding):
            rule = f"y has a label for each of the graph's {len(embedding)} nodes; got {len(y)}"
            raise ValueError(f"{rule}{_NODES_AS_ROWS}")
        vectors: npt.NDArray[np.float32] = self._as_output(np.asarray(embedding))
        return vectors

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the dimensions, which scikit-learn uses as columns of data frames.

        Examples
        --------
        >>> import efge
        >>> efge.EFGE(dim=2, seed=0).fit([("a", "b")]).get_feature_names_out().tolist()
        ['efge0', 'efge1']
        """
        self._check_fitted()
        return np.array([f"{type(self).__name__.lower()}{i}" for i in range(self.embedding_.dim)], object)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        # An input matrix is an adjacency matrix: it has a row and a column for each node.
        adjacency = InputTags(pairwise=True, sparse=True, positive_only=True)
        return Tags(None, TargetTags(required=False), TransformerTags(), input_tags=adjacency)
