"""What can go wrong with what a user gives us."""

from numbers import Integral
from typing import Any

# Characters of a message at most: a name or a value in it may have no end.
_LONGEST = 4000


class InputError(ValueError):
    """What a user gave us and we cannot take; a message is cut where it has no end.

    Examples
    --------
    >>> len(str(InputError("x" * 100_000)))
    4005
    """

    def __init__(self, message: str = "") -> None:
        half = _LONGEST // 2
        super().__init__(message if len(message) <= _LONGEST else f"{message[:half]} ... {message[-half:]}")


class GraphError(InputError):
    """Input that is not a graph, or not the graph it says it is; the message names the place and the rule.

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
    """Training that left the finite numbers; the message says what to lower, `trained` has what was learned before.

    Examples
    --------
    >>> str(TrainingError("the vectors left the finite numbers"))
    'the vectors left the finite numbers'
    """

    def __init__(self, message: str, trained: Any = None) -> None:
        super().__init__(message)
        self.trained = trained


class EmbeddingError(InputError):
    """Vectors or names that are not an embedding, or a file that does not hold one; the message names place and rule.

    Examples
    --------
    >>> import efge
    >>> try:
    ...     efge.Embedding([[0.5, 1.0], [0.0, float("nan")]], ["ann", "bob"])
    ... except efge.EmbeddingError as error:
    ...     print(error)
    row 1, 'bob': a vector is finite in 32 bits; got nan
    """


class CheckpointError(InputError):
    """A saved state that is not of this run, or a folder that holds one already; the message says what differs.

    Examples
    --------
    >>> str(CheckpointError("runs holds the state of an earlier run"))
    'runs holds the state of an earlier run'
    """


class ClusterError(RuntimeError):
    """A cluster that is not there, cannot hold the work, or lost it; the message says what it takes.

    Examples
    --------
    >>> str(ClusterError("no Ray cluster at 'auto'"))
    "no Ray cluster at 'auto'"
    """


class EvaluationError(InputError):
    """Labels, vectors or settings that nothing can be evaluated with; the message states the rule.

    Examples
    --------
    >>> import efge
    >>> try:
    ...     efge.node_classification(efge.Embedding([[1], [2]]), [0, 1], ratios=[50])
    ... except efge.EvaluationError as error:
    ...     print(error)
    a training ratio is between 0 and 1, such as 0.5; got 50.0
    """


def reason_of(error: BaseException) -> str:
    r"""What an error of another library says, in a line that is not too long.

    Examples
    --------
    >>> from efge.errors import reason_of
    >>> reason_of(KeyError()), reason_of(ValueError("no\nsuch  thing"))
    ('KeyError', 'no such thing')
    """
    said = " ".join(str(error)[:10_000].split())
    return (said[:300] + "..." if len(said) > 300 else said) or type(error).__name__


def check_counts(**counts: Any) -> None:
    """Refuse what cannot be a number of something.

    Examples
    --------
    >>> from efge.errors import check_counts
    >>> check_counts(walks=0)
    Traceback (most recent call last):
    ValueError: walks is a whole number from 1 on; got 0
    """
    for name, value in counts.items():
        if value is not None and not (isinstance(value, Integral) and int(value) >= 1):
            raise ValueError(f"{name} is a whole number from 1 on; got {value!r}")
