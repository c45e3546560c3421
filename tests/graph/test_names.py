"""Arrays of names, names as text, and the index from name to row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import efge
from efge import GraphError
from efge.graph.names import (
    NameIndex,
    escape_name,
    format_names,
    match_types,
    name_array,
    parse_names,
    unescape_name,
    warn_if_mixed,
)

INTEGERS = st.integers(-(2**70), 2**70) | st.sampled_from([0, 2**63 - 1, 2**63, 2**64, -(2**63), -(2**63) - 1])


@pytest.mark.parametrize(
    ("names", "dtype", "kept"),
    [
        ([1, 2, 3], np.int64, [1, 2, 3]),
        ([2**63 - 1, -(2**63)], np.int64, [2**63 - 1, -(2**63)]),
        ([2**63, 1], object, [2**63, 1]),
        (["a", 1], object, ["a", 1]),
        ([1.0, 2.0], np.int64, [1, 2]),
        ([1.5, 2.0], object, [1.5, 2]),
        ([True, 2], object, [True, 2]),
        ([(1, 2), (3, 4)], object, [(1, 2), (3, 4)]),
        ([(1, 2), (3,)], object, [(1, 2), (3,)]),
        ([np.int8(3), np.str_("x")], object, [3, "x"]),
        (np.array([1, 2], np.uint8), np.int64, [1, 2]),
        (np.array([2**64 - 1], np.uint64), object, [2**64 - 1]),
        (np.array(["a", "bc"]), object, ["a", "bc"]),
        (np.array([1.0, 2.5]), object, [1, 2.5]),
        ([], np.int64, []),
    ],
)
def test_name_arrays_hold_python_values(names, dtype, kept):
    array = name_array(names)
    assert array.dtype == dtype
    assert array.tolist() == kept
    assert list(map(type, array.tolist())) == list(map(type, kept))


def test_the_array_of_the_caller_stays_writable():
    names = np.array(["a", "b"], object)
    name_array(names)
    assert names.flags.writeable


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (["1", "0", "-3"], [1, 0, -3]),
        (["1", "007"], ["1", "007"]),
        (["1", "-0"], ["1", "-0"]),
        (["1", "+5"], ["1", "+5"]),
        (["1", "1.0"], ["1", "1.0"]),
        (["1", " 2"], ["1", " 2"]),
        (["1", "1_0"], ["1", "1_0"]),
        (["1", "٣"], ["1", "٣"]),
        (["1", "²"], ["1", "²"]),
        (["9223372036854775807", "9223372036854775808"], [2**63 - 1, 2**63]),
        (["-9223372036854775808", "18446744073709551616"], [-(2**63), 2**64]),
        (["1\n", "2"], ["1\n", "2"]),
    ],
)
def test_texts_are_integers_only_if_all_print_unchanged(texts, names):
    assert parse_names(texts).tolist() == names


@pytest.mark.parametrize("known", [[1, 2], ["1", "ann"]])
def test_names_that_are_different_stay_different_whatever_types_known_ones_have(known):
    names = [1, "1", 2, "ann"]
    assert match_types(name_array(names), name_array(known)).tolist() == names


def test_a_truth_value_is_no_integer_beside_its_text(recwarn):
    warn_if_mixed(name_array([True, 2, "1"]))
    assert not recwarn.list


@pytest.mark.parametrize(
    ("names", "matched"),
    [([1, 2, 3, 4], [1, 2, "3", 4]), (["1", "ann", "3", "4"], [1, "ann", "3", "4"]), (["3", "07"], ["3", "07"])],
)
def test_names_of_several_types_are_found_one_by_one(names, matched):
    assert match_types(name_array(names), name_array([1, 2, "3"])).tolist() == matched


def test_a_name_may_have_five_thousand_digits(write):
    # Python refuses to convert more than 4300 digits.
    graph = efge.read_graph(write("graph.txt", f"1 {'9' * 5000}\n"))
    assert graph.n_nodes == 2


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3), unique=True, max_size=20), st.data())
def test_an_index_finds_integers_like_a_dict(names, data):
    wanted = data.draw(st.lists(st.integers(-3, 3) | INTEGERS | st.floats(-3, 3) | st.text(max_size=2)))
    twin = {name: row for row, name in enumerate(names)}
    found = NameIndex(name_array(names)).rows(wanted).tolist()
    assert found == [twin.get(name, -1) for name in wanted]


def test_a_name_that_utf8_cannot_hold_is_an_error(write):
    path = write("graph.txt", "a b\n")
    with pytest.raises(GraphError):
        efge.read_graph(path, nodes=["\ud800"])


# Escapes in full and in part, so that names are made of what could be taken for one.
PIECES = [
    "\\",
    "\\u",
    "u",
    "0020",
    "\\u0020",
    "\\u005c",
    "\\u200b",
    "\\u00",
    "200b",
    "\u200b",
    " ",
    "\t",
    "\n",
    "\0",
    "\ufeff",
]


@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join) | st.text(st.characters(exclude_categories=["Cs"])))
def test_escaping_is_reversible(name):
    assert unescape_name(escape_name(name)) == name
    assert unescape_name(escape_name(name, keep=" ")) == name


@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join) | st.text(st.characters(exclude_categories=["Cs"])))
def test_an_escaped_name_is_one_visible_word(name):
    word = escape_name(name)
    assert word.split() == [word]
    assert not set(word) & {"\0", "\ufeff"}
    assert escape_name(name, keep=" ").count(" ") == name.count(" ")


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("ann", "ann"),
        ("a b", r"a\u0020b"),
        ("", r"\u200b"),
        ("\u200b", "\u200b"),
        (r"\u200b", r"\u005cu200b"),
        (r"\u0020", r"\u005cu0020"),
        (r"\alpha\u00e9", r"\alpha\u00e9"),
        ("C:\\", "C:\\"),
    ],
)
def test_only_ambiguous_characters_are_escaped(name, word):
    assert escape_name(name) == word
    assert unescape_name(word) == name


def test_names_that_look_the_same_or_cannot_be_printed_are_errors():
    assert format_names(name_array([1, "a b", (0, 1)])) == ["1", r"a\u0020b", r"(0,\u00201)"]
    with pytest.raises(GraphError, match="cannot be told apart"):
        format_names(name_array([1, "1"]))
    with pytest.raises(GraphError, match="a name cannot be written as text"):
        format_names(name_array([10**5000]))
