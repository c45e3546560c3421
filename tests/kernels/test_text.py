"""The kernels of text agree with Python: str.split, csv, int and float."""

import csv
import io

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from efge.graph.names import (
    Fields,
)
from efge.kernels import text as kernel

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp")), max_size=20)
INTEGERS = st.integers(-(2**70), 2**70) | st.sampled_from([0, 2**63 - 1, 2**63, 2**64, -(2**63), -(2**63) - 1])


def tokenize_text(text, delimiter, comments="#%"):
    data = np.frombuffer(text.encode(), np.uint8)
    starts = np.full(len(data) + 2, -1, np.int64)
    ends, firsts = starts.copy(), starts.copy()
    marks = np.frombuffer(comments.encode(), np.uint8)
    n_fields, n_lines, doubled = kernel.tokenize(data, delimiter, marks, starts, ends, firsts)
    if doubled:
        data = data.copy()
        kernel.undouble_quotes(data, starts[:n_fields], ends[:n_fields])
    fields = [data[starts[i] : ends[i]].tobytes().decode() for i in range(n_fields)]
    return [fields[firsts[i] : firsts[i + 1]] for i in range(n_lines)]


def parse_weights(texts):
    fields = Fields.from_texts(texts)
    values = np.empty(len(texts))
    kernel.parse_weights(*fields, values)
    return values


@given(st.lists(st.text("ab\u00e9#%\"', \t\r", max_size=9), max_size=6), st.booleans())
def test_white_space_splits_like_str_split(lines, ends_with_newline):
    text = "\n".join(lines) + "\n" * ends_with_newline
    expected = [line.split() for line in lines if line.strip() and line.strip()[0] not in "#%"]
    assert tokenize_text(text, kernel.WHITESPACE) == expected


@given(st.lists(st.lists(WORDS.filter(lambda word: '"' not in word), min_size=2, max_size=4), max_size=6))
def test_tabs_split_like_str_split(rows):
    assume(all(any(row) and row[0][:1] not in ("#", "%") for row in rows))
    text = "".join("\t".join(row) + "\n" for row in rows)
    assert tokenize_text(text, kernel.TAB) == rows


@given(st.lists(st.lists(st.text("ab\",; '#\u00e9", max_size=6), min_size=2, max_size=4), max_size=6))
def test_commas_split_like_the_csv_module(rows):
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(rows)
    assert tokenize_text(text.getvalue(), ord(",")) == rows


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("a,b", ["a", "b"]),
        (" a , b \r", ["a", "b"]),
        ("a,", ["a", ""]),
        (",", ["", ""]),
        ('"a,b",c', ["a,b", "c"]),
        ('"a" ,c', ["a", "c"]),
        ('" a ",c', [" a ", "c"]),
        ('"a,b', ['"a', "b"]),
        ('a"b,c"d', ['a"b', 'c"d']),
        ('"a"b,c', ['"a"b', "c"]),
        ('"",c', ["", "c"]),
        ("a b,c d", ["a b", "c d"]),
    ],
)
def test_lines_of_commas_split_into_these_fields(line, fields):
    for end in ("", "\n", "\r\n"):
        assert tokenize_text(line + end, ord(",")) == [fields]


@given(st.binary(max_size=40), st.sampled_from([0, 9, 44, 59]))
def test_any_bytes_split_into_fields_within_bounds(data, delimiter):
    array = np.frombuffer(data, np.uint8)
    starts = np.full(len(data) + 2, -1, np.int64)
    ends, firsts = starts.copy(), starts.copy()
    marks = np.frombuffer(b"#%", np.uint8)
    fields, lines, _ = kernel.tokenize(array, delimiter, marks, starts, ends, firsts)
    assert lines <= data.count(b"\n") + 1
    assert (np.diff(firsts[: lines + 1]) > 0).all()
    assert ((starts[:fields] >= 0) & (starts[:fields] <= ends[:fields]) & (ends[:fields] <= len(data))).all()
    assert not any(b"\n" in data[starts[i] : ends[i]] for i in range(fields))


def parse_plain_edges(text, delimiter):
    data = np.frombuffer(text.encode(), np.uint8)
    values = np.empty(len(data) // 2 + 2, np.int64)
    count = kernel.parse_plain_edges(data, delimiter, values)
    return None if count < 0 else values[:count].tolist()


@given(
    st.lists(
        st.text("0123456789 -\t,\r+x", max_size=10) | st.from_regex(r"[0-9]{1,20}[ \t,][0-9]{1,20}\r?"), max_size=4
    )
)
def test_the_fast_parser_of_integer_pairs_agrees_with_the_tokenizer(lines):
    for text in ("\n".join(lines), "\n".join(lines) + "\n"):
        for delimiter in (kernel.WHITESPACE, kernel.TAB, ord(",")):
            values = parse_plain_edges(text, delimiter)
            rows = tokenize_text(text, delimiter)
            assert values is None or [list(map(str, values[i : i + 2])) for i in range(0, len(values), 2)] == rows


def test_the_fast_parser_reads_common_files():
    assert parse_plain_edges("1 2\n30 4\r\n0 6", kernel.WHITESPACE) == [1, 2, 30, 4, 0, 6]
    assert parse_plain_edges("1\t2\n", kernel.TAB) == [1, 2]


@given(st.lists(INTEGERS.map(str) | st.from_regex(r"[-+]?[0-9]{1,20}", fullmatch=True) | WORDS, max_size=6))
def test_plain_integers_are_texts_that_print_unchanged(texts):
    def is_plain(text):
        try:
            return str(int(text)) == text and -(2**63) < int(text) < 2**63
        except ValueError:
            return False

    values = np.zeros(len(texts), np.int64)
    first_other = kernel.parse_integers(*Fields.from_texts(texts), values)
    assert first_other == next((i for i, text in enumerate(texts) if not is_plain(text)), -1)
    if first_other < 0:
        assert values.tolist() == list(map(int, texts))


def test_weights_equal_the_floats_of_python():
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 19, 20_000)
    digits = list(map(str, rng.integers(0, 10**sizes)))
    texts = [text[:cut] + "." + text[cut:] for text, cut in zip(digits, rng.integers(0, 6, 20_000), strict=True)]
    texts += digits
    values = parse_weights(texts)
    read = np.flatnonzero(~np.isnan(values))
    assert len(read) > 20_000
    assert values[read].tolist() == [float(texts[i]) for i in read]


@given(st.floats(min_value=0, exclude_min=True, allow_infinity=False))
def test_a_printed_float_is_parsed_exactly_or_left_to_python(value):
    for text in (repr(value), f"{value:.6f}", f"{value:.17g}"):
        (got,) = parse_weights([text])
        assert np.isnan(got) or got == float(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "-1",
        "+1",
        "0",
        "0.0",
        "000",
        "nan",
        "inf",
        "1e5",
        "1_0",
        "1.2.3",
        "..",
        "0x1",
        "1,5",
        " 1",
        "\uff11",
        "1 2",
    ],
)
def test_texts_that_are_not_plain_positive_decimals_are_left_to_python(text):
    assert np.isnan(parse_weights([text]))[0]


@pytest.mark.parametrize(
    "text",
    ["1", "1.", ".5", "007", "0.10", "9007199254740991", "9007199254740993", "0." + "0" * 30 + "1", "1" * 400 + ".0"],
)
def test_plain_decimals_are_parsed_exactly_or_left_to_python(text):
    (value,) = parse_weights([text])
    assert np.isnan(value) or value == float(text)


@pytest.mark.parametrize(
    ("text", "is_parsed"),
    [
        ("0." + "0" * 21 + "7", True),
        ("0." + "0" * 22 + "7", False),
        ("9007199254740989", True),
        ("9007199254740990", False),
        ("900719925474098.9", True),
    ],
)
def test_decimals_are_parsed_if_mantissa_and_power_of_ten_are_exact_floats(text, is_parsed):
    """10**22 is the last power of ten that is a float, and 2**53 = 9007199254740992 ends the integers that all are."""
    (value,) = parse_weights([text])
    assert np.isnan(value) == (not is_parsed)
    assert not is_parsed or value == float(text)


def test_keys_are_numbered_until_two_thirds_of_the_slots_are_taken():
    slots, ahead = 1 << 12, kernel._AHEAD
    keys = np.zeros((slots, 2), np.uint64)
    keys[:, 0] = np.arange(1, slots + 1)
    numbers, firsts = np.empty(slots, np.int32), np.empty(slots, np.int64)
    table = np.zeros((slots, 2), np.uint64), np.full(slots, -1, np.int32)
    stop, count = kernel.number_keys(keys, 0, *table, numbers, 0, firsts)
    assert stop == count == 2 * slots // 3 // ahead * ahead
    assert numbers[:count].tolist() == firsts[:count].tolist() == list(range(count))


def test_names_are_joined_by_spaces_to_lines():
    names = Fields.from_texts(["a", "bc", "d"])
    data = np.empty(9, np.uint8)
    lines = np.array([0, 1, 0, 2]), np.array([0, 2, 4])
    assert kernel.join_names(*lines, names.data, np.append(names.starts, len(names.data)), data) == 9
    assert data.tobytes() == b"a bc\na d\n"
