"""Exceptions and warnings, and checks that several packages share."""

import difflib
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterable
from numbers import Integral, Real
from typing import Any

_PACKAGE = __name__.partition(".")[0]
# Maximum number of characters in a message; a name or a value quoted in it may be very long.
_MAX_LENGTH = 4000
# A known text of this many characters is near to one that begins with it.
_MIN_BEGINNING = 3
# Largest integer that arrays and compiled loops take.
_MAX_INTEGER = 2**63 - 1

# Integers that have no default which None could stand for.
_REQUIRED = (
    "dim", "window", "negatives", "epochs", "walk_length", "walks_per_node", "repeats", "hits", "order", "steps",
    "rank", "n_init", "max_iter", "k", "count", "height", "seeds", "splits", "memory_limit", "processes",
)  # fmt: skip


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
    ...     model = efge.EFGE("bernoulli", dim=8, walks_per_node=1, seed=0).fit(edges)
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


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside of this package that called it, however deep inside of it the warning arises.

    Examples
    --------
    >>> import warnings
    >>> from efge.errors import warn_user
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_user("the column 'age' is ignored")
    >>> str(caught[0].message)
    "the column 'age' is ignored"
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


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


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike)) and isinstance(os.fspath(value), str) and os.fspath(value) != ""


def _is_flag(value: Any) -> bool:
    return isinstance(value, Integral) and value in (0, 1)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return is_integer(value) and 0 <= value <= _MAX_INTEGER


def _is_column(value: Any) -> bool:
    return isinstance(value, str) or is_integer(value)


# What arguments are, by their names, which mean the same in all public functions; those of the second list may be None.
_RULES: list[tuple[tuple[str, ...], Callable[[Any], bool], str]] = [
    (("path", "new"), _is_path, "the path of a file, as text or pathlib.Path, and not empty"),
    (("encoding", "comments", "decimal", "title", "attribute"), _is_text, "text"),
    (("skip_lines",), _is_count, "a number of lines, from 0 on"),
    (
        ("drop_self_loops", "skip_bad", "count_duplicates", "aligned", "freeze", "normalize", "escape_formulas"),
        _is_flag,
        "True or False",
    ),
    (("force",), _is_flag, "True or False"),
]
_OPTIONAL_RULES: list[tuple[tuple[str, ...], Callable[[Any], bool], str]] = [
    (("format", "delimiter", "thousands", "key"), _is_text, "text, or None to detect it"),
    (("command",), _is_text, "text, or None"),
    (
        ("directed", "weighted", "header", "overlapping", "bipartite"),
        _is_flag,
        "True, False, or None to choose by the input",
    ),
    (("source", "target", "weight", "node", "label"), _is_column, "the name or the number of a column"),
]


def check_types(**values: Any) -> None:
    """Raise a TypeError unless every argument has the type that its name stands for in all public functions.

    Examples
    --------
    >>> from efge.errors import check_types
    >>> check_types(path=3)
    Traceback (most recent call last):
    TypeError: path is the path of a file, as text or pathlib.Path, and not empty; got 3
    """
    for name, value in values.items():
        rules = _RULES if value is None else [*_RULES, *_OPTIONAL_RULES]
        for names, is_valid, rule in rules:
            if name in names and not is_valid(value):
                raise TypeError(f"{name} is {rule}; got {value!r}"[:_MAX_LENGTH])


def check_folder_path(name: str, folder: Any, *, required: bool = False) -> None:
    """Raise a TypeError unless an argument of any name is the path of a folder, or None if it is not required.

    Examples
    --------
    >>> from efge.errors import check_folder_path
    >>> check_folder_path("mmap", True)
    Traceback (most recent call last):
    TypeError: mmap is the path of a folder, as text or pathlib.Path, and not empty; got True
    """
    if (required or folder is not None) and not _is_path(folder):
        raise TypeError(f"{name} is the path of a folder, as text or pathlib.Path, and not empty; got {folder!r}")


def check_choice(name: str, value: Any, known: Iterable[str], error: type[ValueError] = ValueError) -> None:
    """Raise an error unless a value is one of some texts; the message lists them, and says which one is near.

    Examples
    --------
    >>> from efge.errors import check_choice
    >>> check_choice("metric", "cosin", ["cosine", "dot"])
    Traceback (most recent call last):
    ValueError: no metric 'cosin'; known: cosine, dot; did you mean 'cosine'?
    """
    known = list(known)
    if not isinstance(value, str) or value not in known:
        hint = did_you_mean(value, known) if isinstance(value, str) else ""
        raise error(f"no {name} {value!r}; known: {', '.join(known)}{hint}"[:_MAX_LENGTH])


def is_integer(value: Any) -> bool:
    """Whether a value is an integer, and not a truth value.

    Examples
    --------
    >>> from efge.errors import is_integer
    >>> is_integer(3), is_integer(True), is_integer("3")
    (True, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether a value is a real number, and not a truth value.

    Examples
    --------
    >>> from efge.errors import is_number
    >>> is_number(0.5), is_number("0.5")
    (True, False)
    """
    return isinstance(value, Real) and not isinstance(value, bool)


def did_you_mean(name: Any, known: Iterable[Any]) -> str:
    """Return the end of a message that names the known text nearest to an unknown one; empty if none is near.

    Examples
    --------
    >>> from efge.errors import did_you_mean
    >>> did_you_mean("normall", ["normal", "poisson"]), did_you_mean("x", ["normal"])
    ("; did you mean 'normal'?", '')
    >>> did_you_mean("dimensions", ["dim", "window"])
    "; did you mean 'dim'?"
    """
    texts, text = {str(other).lower(): other for other in known}, str(name)[:100].lower()
    beginnings = [other for other in texts if len(other) >= _MIN_BEGINNING and text.startswith(other)]
    close = difflib.get_close_matches(text, texts, 1) or beginnings[:1]
    return f"; did you mean {texts[close[0]]!r}?" if close else ""


def check_positive_integers(**values: Any) -> None:
    """Raise a ValueError unless every value is a positive integer, or None for one that may be left out.

    Examples
    --------
    >>> from efge.errors import check_positive_integers
    >>> check_positive_integers(walks=0)
    Traceback (most recent call last):
    ValueError: walks must be a positive integer; got 0
    """
    for name, value in values.items():
        is_left_out = value is None and name not in _REQUIRED
        if not is_left_out and not (is_integer(value) and 1 <= int(value) <= _MAX_INTEGER):
            size = " of at most 64 bits" if is_integer(value) and value > 0 else ""
            raise ValueError(f"{name} must be a positive integer{size}; got {value!r}"[:_MAX_LENGTH])


def check_positive_numbers(error: type[ValueError] = ValueError, **values: Any) -> None:
    """Raise an error unless every value is a finite number above 0.

    Examples
    --------
    >>> from efge.errors import check_positive_numbers
    >>> check_positive_numbers(C="1")
    Traceback (most recent call last):
    ValueError: C must be a positive number; got '1'
    """
    for name, value in values.items():
        if not (is_number(value) and 0 < value < math.inf):
            raise error(f"{name} must be a positive number; got {value!r}"[:_MAX_LENGTH])


def check_functions(**functions: Any) -> None:
    """Raise a TypeError unless every argument is None or can be called.

    Examples
    --------
    >>> from efge.errors import check_functions
    >>> check_functions(progress=3)
    Traceback (most recent call last):
    TypeError: progress is a function, or None; got 3
    """
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise TypeError(f"{name} is a function, or None; got {function!r}"[:_MAX_LENGTH])
