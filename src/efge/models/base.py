"""What all estimators share: scikit-learn's conventions, any graph for input, an embedding for the result.

scikit-learn itself is only loaded when it asks: its import takes longer than embedding a small graph.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from efge.embedding.embedding import Embedding
from efge.graph.inputs import as_graph
from efge.walks.walks import Walks

AnyEmbedder = TypeVar("AnyEmbedder", bound="NodeEmbedder")


class NodeEmbedder:
    """An estimator whose `fit` takes a graph and keeps the vectors of its nodes as `embedding_`.

    It goes by scikit-learn's conventions: clones, pipelines and searches work.

    Examples
    --------
    >>> import efge
    >>> isinstance(efge.EFGE(), NodeEmbedder)
    True
    """

    embedding_: Embedding
    fit: Callable[..., Any]

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """The parameters that the constructor takes, in its order, and their defaults."""
        _, *parameters = inspect.signature(cls.__init__).parameters.values()
        return {parameter.name: parameter.default for parameter in parameters}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; `deep` is of no effect, as none of them has parameters of its own.

        Examples
        --------
        >>> import efge
        >>> efge.HOPE(dim=8).get_params()
        {'dim': 8, 'beta': None, 'seed': None}
        """
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self: AnyEmbedder, **params: Any) -> AnyEmbedder:
        """Set parameters by name.

        Examples
        --------
        >>> import efge
        >>> efge.EFGE().set_params(dim=16)
        EFGE(dim=16)
        """
        known = self._defaults()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        given = {name: (repr(getattr(self, name)), repr(default)) for name, default in self._defaults().items()}
        changed = [f"{name}={value}" for name, (value, default) in given.items() if value != default]
        return f"{type(self).__name__}({', '.join(changed)})"

    def _check_fitted(self) -> None:
        if not hasattr(self, "embedding_"):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(f"this {type(self).__name__} has learned nothing yet; call fit with a graph first")

    def set_output(self: AnyEmbedder, *, transform: str | None = None) -> AnyEmbedder:
        """Let `transform` and `fit_transform` answer in a data frame: "pandas", "polars", or "default" for arrays.

        Examples
        --------
        >>> import efge
        >>> efge.EFGE(dim=2, seed=0).set_output(transform="pandas").fit_transform([("a", "b")]).columns.tolist()
        ['efge0', 'efge1']
        """
        if transform not in (None, "default", "pandas", "polars"):
            raise ValueError(f"vectors come as default, pandas or polars; got {transform!r}")
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def _framed(self, vectors: npt.NDArray[np.float32]) -> Any:
        """Vectors in what was asked for, of the estimator or of all of scikit-learn."""
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

    def transform(self, X: Any) -> npt.NDArray[np.float32]:  # noqa: N803
        """Vectors of a graph's nodes, in its order; all of them were nodes of the graph that was fitted.

        Examples
        --------
        >>> import efge
        >>> efge.EFGE(dim=4, seed=0).fit([("a", "b")]).transform([("b", "a")]).shape
        (2, 4)
        """
        self._check_fitted()
        graph = X.graph if isinstance(X, Walks) else as_graph(X)
        framed: npt.NDArray[np.float32] = self._framed(np.asarray(self.embedding_[graph.names.tolist()]))
        return framed

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> npt.NDArray[np.float32]:  # noqa: N803
        """Learn the vectors of a graph's nodes; the array of them, in the graph's order.

        Examples
        --------
        >>> import efge
        >>> efge.EFGE(dim=4, seed=0).fit_transform([("a", "b"), ("b", "c")]).shape
        (3, 4)
        """
        framed: npt.NDArray[np.float32] = self._framed(np.asarray(self.fit(X, y, **fit_params).embedding_))
        return framed

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of a vector's entries, for scikit-learn's data frames.

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

        # Where the input is a matrix, it has a row and a column for each node.
        matrix = InputTags(pairwise=True, sparse=True, positive_only=True)
        return Tags(None, TargetTags(required=False), TransformerTags(), input_tags=matrix)
