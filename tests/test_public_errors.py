"""Wrong arguments of everything public: each error is a sentence that this project wrote, never one of raw Python."""

from __future__ import annotations

import inspect
import linecache
import shutil
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest

import efge
from public_calls import CASES, EMBEDDING, GRAPH, IGNORED, INTERNAL, LABELS, RECORDS, public_calls, write_files

SOURCES = str(Path(efge.__file__).parent)
WRONG = [
    "no such thing", "", -1, 0, 2.5, True, None, float("nan"), float("inf"), 10**30, b"x", [], [3], {"x": 1},
    slice(1, 3), object(), np.ones((2, 3)), np.str_("x"),
]  # fmt: skip
# Other packages are not there, or a data set cannot be had: the message says so, whatever the argument.
ELSEWHERE = (ImportError, OSError, efge.DatasetError, efge.ClusterError)


def says_why(error, name=None, value=None):
    """Whether an error was raised on purpose in this project, with a sentence about the argument or its value."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    ours = frame.filename.startswith(SOURCES)
    raised = any(
        "raise" in linecache.getline(frame.filename, number)
        for number in range(frame.lineno, (frame.end_lineno or frame.lineno) + 1)
    )
    return ours and raised and len(str(error).split()) >= 4 and (name is None or mentions(str(error), name, value))


def mentions(message, name, value):
    """Whether a message has the name of an argument, also in the singular or as words, or what was given for it."""
    text, stem = message.lower().replace("-", "_"), name.lower().removeprefix("n_").rstrip("s")
    quoted = isinstance(value, str) and value != "" and value in message
    given = quoted or any(words in text for words in ("got ", "no node named", "known: ", "there are", "it has"))
    return given or stem in text or stem.replace("_", " ") in text


def known(arguments):
    """Return the arguments of a case that exist."""
    return {name: value for name, value in arguments.items() if not name.startswith("no_such")}


def complaints(call, arguments):
    """Return each argument that a wrong value gives an error of raw Python, or of another library."""
    found, valid = [], known(arguments)
    for name in arguments:
        for value in WRONG:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    call(**valid | {name: value})
            except ELSEWHERE as error:
                if len(str(error).split()) < 3:
                    found.append(f"{name}={value!r}: {type(error).__name__}: {str(error)[:90]}")
            except Exception as error:
                expected = isinstance(error, (TypeError, ValueError, KeyError, efge.TrainingError))
                if not (expected and says_why(error, name, value)):
                    found.append(f"{name}={value!r}: {type(error).__name__}: {str(error)[:120]}")
    return found


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("originals")
    write_files(folder)
    return folder


@pytest.fixture(autouse=True)
def files(originals, tmp_path, monkeypatch):
    # Wrong paths become files, too, which other tests must not find.
    shutil.copytree(originals, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def test_every_public_call_and_each_of_its_arguments_has_a_case():
    missing = []
    for name, call in public_calls().items():
        parameters = inspect.signature(call).parameters.values()
        checked = {p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)} - IGNORED - {"self"}
        if not checked or name in RECORDS | INTERNAL:
            continue
        _, arguments = CASES.get(name, (None, {}))
        missing += [f"{name}({argument})" for argument in sorted(checked - set(arguments))]
    assert missing == []


@pytest.mark.parametrize("name", CASES)
def test_the_arguments_of_a_case_work(name):
    call, arguments = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "load_dataset":
            return
        call(**known(arguments))


@pytest.mark.parametrize("name", CASES)
def test_wrong_arguments_are_refused_in_a_sentence(name):
    assert complaints(*CASES[name]) == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: efge.link_prediction(GRAPH, EMBEDDING), "pass estimators, such as efge.HOPE()"),
        (lambda: efge.node_classification(EMBEDDING, LABELS, ratios=0.5), "ratios is a list of numbers"),
        (lambda: EMBEDDING[1:3], "an embedding is indexed by node names"),
        (lambda: EMBEDDING.neighbors("a", k="3"), "k must be a positive integer; got '3'"),
        (lambda: efge.EFGE(dim=True).fit(GRAPH), "dim must be a positive integer; got True"),
        (lambda: efge.EFGE(seed="a").fit(GRAPH), "seed is an integer, or None for a random one; got 'a'"),
        (lambda: efge.EFGE().fit(""), "and not empty; got ''"),
        (lambda: efge.EFGE(walk_length=1).fit(GRAPH), "walk_length must be at least 2"),
        (lambda: efge.EFGE(window=0).fit(GRAPH), "window must be a positive integer; got 0"),
        (lambda: efge.EFGE("bernouli").fit(GRAPH), "did you mean 'bernoulli'?"),
        (lambda: efge.as_graph([("anna", "bob")]).neighbors("ann"), "did you mean 'anna'?"),
    ],
)
def test_errors_of_python_say_the_rule_the_value_and_what_to_do(call, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert message in str(caught.value)
    assert says_why(caught.value)
