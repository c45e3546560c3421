"""Exceptions and warnings, and checks that several packages share."""

from numbers import Integral
from typing import Any

# Maximum number of characters in a message; a name or a value quoted in it may be very long.
_MAX_LENGTH = 4000


class InputError(ValueError):
    """Base class of errors about user input; a very long message is shortened in the middle.

    Examples
    --------
    >>> len(str(InputError("x" * 100_000)))
    4005
    """

    def __init__(self, message: str = "") -> None:
        half = _MAX_LENGTH // 2
        super().__init__(message if len(message) <= _MAX_LENGTH else f"{message[:half]} ... {message[-half:]}")


class GraphError(InputError):
    """Input that is not a valid graph; the message states the place and the rule.

    Examples
    --------
    >>> import efge
    >>> try:
    ...     efge.as_graph([("a", "b", -1)])
    ... except efge.GraphError as error:
    ...     print(error)
    edge 0 ('a', 'b'): a weight is finite and positive; got -1.0
    """


class TrainingError(RuntimeError):
    """Vectors that became NaN or infinite; the message says what to lower, `trained` holds what was learned before.

    Examples
    --------
    >>> str(TrainingError("the vectors became NaN or infinite"))
    'the vectors became NaN or infinite'
    """

    def __init__(self, message: str, trained: Any = None) -> None:
        super().__init__(message)
        self.trained = trained


class QualityWarning(UserWarning):
    """Vectors that say little about the graph; the message tells what was seen and what to change.

    Examples
    --------
    >>> import warnings
    >>> import efge
    >>> edges = [(i, (i + step) % 60) for i in range(60) for step in (1, 2)]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = efge.EFGE(dim=8, walks_per_node=1, seed=0).fit(edges)
    >>> caught[0].category.__name__
    'QualityWarning'
    """


class EmbeddingError(InputError):
    """Vectors, names or a file that are not a valid embedding; the message states the place and the rule.

    Examples
    --------
    >>> import efge
    >>> try:
    ...     efge.Embedding([[0.5, 1.0], [0.0, float("nan")]], ["ann", "bob"])
    ... except efge.EmbeddingError as error:
    ...     print(error)
    row 1, 'bob': a vector must be finite in 32 bits; got nan
    """


class CheckpointError(InputError):
    """A checkpoint that belongs to another run, or a folder that is in use; the message says what differs.

    Examples
    --------
    >>> str(CheckpointError("runs holds the checkpoints of an earlier run"))
    'runs holds the checkpoints of an earlier run'
    """


class ClusterError(RuntimeError):
    """A cluster that cannot be reached, is too small, or failed; the message says what to do.

    Examples
    --------
    >>> str(ClusterError("no Ray cluster at 'auto'"))
    "no Ray cluster at 'auto'"
    """


class EvaluationError(InputError):
    """Labels, vectors or settings that cannot be evaluated; the message states the rule.

    Examples
    --------
    >>> import efge
    >>> try:
    ...     efge.node_classification(efge.Embedding([[1], [2]]), [0, 1], ratios=[50])
    ... except efge.EvaluationError as error:
    ...     print(error)
    a training ratio is between 0 and 1, such as 0.5; got 50.0
    """


def describe_error(error: BaseException) -> str:
    r"""Return the message of another library's error as one short line.

    Examples
    --------
    >>> from efge.errors import describe_error
    >>> describe_error(KeyError()), describe_error(ValueError("no\nsuch  thing"))
    ('KeyError', 'no such thing')
    """
    message = " ".join(str(error)[:10_000].split())
    return (message[:300] + "..." if len(message) > 300 else message) or type(error).__name__


def check_positive_integers(**values: Any) -> None:
    """Raise a ValueError unless every value is a positive integer or None.

    Examples
    --------
    >>> from efge.errors import check_positive_integers
    >>> check_positive_integers(walks=0)
    Traceback (most recent call last):
    ValueError: walks must be a positive integer; got 0
    """
    for name, value in values.items():
        if value is not None and not (isinstance(value, Integral) and int(value) >= 1):
            raise ValueError(f"{name} must be a positive integer; got {value!r}")
