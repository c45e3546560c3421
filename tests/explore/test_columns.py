"""Columns to color nodes by: numbers or categories, from every source of values."""

from datetime import date

import numpy as np
import pytest

import efge
from efge.explore.columns import make_columns

pd = pytest.importorskip("pandas")


def make_column(values, embedding=None, name="x"):
    (column,) = make_columns(embedding or efge.Embedding(np.eye(4), list("abcd")), table={name: values})
    return column


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["p", "q", "q", None], ["q", "p", "q"]),
        ([1, 1, 2, 2], ["1", "2"]),
        ([1.0, 1.0, 2.0, float("nan")], None),
        ([True, False, True, True], ["True", "False"]),
        ([0.5, 1, 2, np.inf], None),
        ([3, 1, 2, 5], None),
        ([("p", "q"), "r", ["p", "q"], ()], ["p, q", "r"]),
        ({"b": 7, "z": 0.5}, None),
        (pd.Series([pd.NA, "q"], ["a", "b"]), ["q"]),
        (efge.Communities([["a", "b"], ["b", "c"]]), ["0", "0, 1", "1"]),
    ],
)
def test_columns_are_numbers_or_categories(values, expected):
    column = make_column(values)
    categories = getattr(column, "categories", None)
    assert (None if categories is None else set(categories)) == (None if expected is None else set(expected))


def test_most_frequent_categories_come_first():
    assert make_column(["p", "q", "q", "r"]).categories == ["q", "p", "r"]
    assert make_column(["p", "q", "q", "r"]).codes.tolist() == [1, 0, 0, 2]


def test_community_numbers_are_categories_even_if_there_are_many():
    assert hasattr(make_column([1, 2, 3, 4], name="Community"), "categories")


def test_numbers_of_very_different_size_have_a_log_scale():
    assert make_column([1.5, 0, 2, 300]).log_scale
    assert not make_column([1.5, -1, 2, 300]).log_scale
    assert not make_column([1.5, 2, 3, 4]).log_scale


@pytest.mark.parametrize("kind", ["index", "column", "polars"])
def test_nodes_of_a_data_frame_are_its_index_or_a_column(kind):
    frame = pd.DataFrame({"Node": ["c", "a", "y"], "kind": ["p", "q", "r"], "size": [0.5, None, 1]})
    table = frame.set_index("Node") if kind == "index" else frame
    if kind == "polars":
        table = pytest.importorskip("polars").DataFrame(frame.to_dict("list"))
    kinds, sizes = make_columns(efge.Embedding(np.eye(3), list("abc")), table=table)
    assert (kinds.categories, kinds.codes.tolist()) == (["p", "q"], [1, -1, 0])
    np.testing.assert_array_equal(sizes.values, [np.nan, np.nan, 0.5])


def test_labels_of_several_classes_are_joined():
    labels = {"a": ("x", "y"), "b": "x"}
    (column,) = make_columns(efge.Embedding(np.eye(3), list("abc")), labels)
    assert (column.categories, column.codes.tolist()) == (["x", "x, y"], [1, 0, -1])


def test_long_names_of_columns_and_nodes_do_not_make_long_messages():
    table = {"x" * 50_000: {"y" * 50_000: 1.0}}
    with pytest.raises(efge.EvaluationError, match="no node of") as caught:
        make_columns(efge.Embedding([[1.0]], ["ann"]), table=table)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "values",
    [
        [date(2020, 1, 1), None, date(2020, 1, 3)],
        ["2020-01-01", None, "2020-01-03T00:00:00Z"],
        [np.datetime64("2020-01-01"), np.datetime64("NaT"), np.datetime64("2020-01-03")],
        pd.to_datetime(pd.Series(["2020-01-01", None, "2020-01-03"])).tolist(),
    ],
    ids=["date", "text", "numpy", "pandas"],
)
def test_dates_are_seconds_on_a_scale(values):
    (column,) = make_columns(efge.Embedding(np.eye(3)), table={"day": values})
    assert column.is_date
    assert column.values[2] - column.values[0] == 2 * 86400
    assert np.isnan(column.values[1])


def test_text_that_only_looks_like_dates_is_a_category():
    (column,) = make_columns(efge.Embedding(np.eye(2)), table={"code": ["2020-01-01", "2020-99-99"]})
    assert column.categories == ["2020-01-01", "2020-99-99"]
