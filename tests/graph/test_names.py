"""Names and the kernels of text beneath them, each beside its slow twin."""

import csv
import io

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import efge
from efge import GraphError
from efge.graph.names import (
    FieldNames,
    Fields,
    IntegerNames,
    NameIndex,
    ObjectNames,
    TextNames,
    escaped,
    name_array,
    names_of,
    unescaped,
    written_names,
)
from efge.kernels import text as kernel

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp")), max_size=20)
INTEGERS = st.integers(-(2**70), 2**70) | st.sampled_from([0, 2**63 - 1, 2**63, 2**64, -(2**63), -(2**63) - 1])


def tokenized(text, delimiter, comments="#%"):
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


def weights_of(texts):
    fields = Fields.of(texts)
    values = np.empty(len(texts))
    kernel.parse_weights(*fields, values)
    return values


# Splitting lines


@given(st.lists(st.text("ab\u00e9#%\"', \t\r", max_size=9), max_size=6), st.booleans())
def test_white_space_splits_as_str_split_does(lines, ends_with_newline):
    text = "\n".join(lines) + "\n" * ends_with_newline
    expected = [line.split() for line in lines if line.strip() and line.strip()[0] not in "#%"]
    assert tokenized(text, kernel.WHITESPACE) == expected


@given(st.lists(st.lists(WORDS.filter(lambda word: '"' not in word), min_size=2, max_size=4), max_size=6))
def test_tabs_split_as_str_split_does(rows):
    assume(all(any(row) and row[0][:1] not in ("#", "%") for row in rows))
    text = "".join("\t".join(row) + "\n" for row in rows)
    assert tokenized(text, kernel.TAB) == rows


@given(st.lists(st.lists(st.text("ab\",; '#\u00e9", max_size=6), min_size=2, max_size=4), max_size=6))
def test_commas_split_as_the_csv_module_does(rows):
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(rows)
    assert tokenized(text.getvalue(), ord(",")) == rows


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
def test_a_line_of_commas_splits_like_this(line, fields):
    for end in ("", "\n", "\r\n"):
        assert tokenized(line + end, ord(",")) == [fields]


@given(st.binary(max_size=40), st.sampled_from([0, 9, 44, 59]))
def test_any_bytes_split_into_places_within_them(data, delimiter):
    array = np.frombuffer(data, np.uint8)
    starts = np.full(len(data) + 2, -1, np.int64)
    ends, firsts = starts.copy(), starts.copy()
    marks = np.frombuffer(b"#%", np.uint8)
    fields, lines, _ = kernel.tokenize(array, delimiter, marks, starts, ends, firsts)
    assert lines <= data.count(b"\n") + 1
    assert (np.diff(firsts[: lines + 1]) > 0).all()
    assert ((starts[:fields] >= 0) & (starts[:fields] <= ends[:fields]) & (ends[:fields] <= len(data))).all()
    assert not any(b"\n" in data[starts[i] : ends[i]] for i in range(fields))


def plain_values(text, delimiter):
    data = np.frombuffer(text.encode(), np.uint8)
    values = np.empty(len(data) // 2 + 2, np.int64)
    count = kernel.parse_plain_edges(data, delimiter, values)
    return None if count < 0 else values[:count].tolist()


@given(
    st.lists(
        st.text("0123456789 -\t,\r+x", max_size=10) | st.from_regex(r"[0-9]{1,20}[ \t,][0-9]{1,20}\r?"), max_size=4
    )
)
def test_the_fast_way_for_pairs_of_integers_reads_what_the_slow_way_reads(lines):
    for text in ("\n".join(lines), "\n".join(lines) + "\n"):
        for delimiter in (kernel.WHITESPACE, kernel.TAB, ord(",")):
            values = plain_values(text, delimiter)
            rows = tokenized(text, delimiter)
            assert values is None or [list(map(str, values[i : i + 2])) for i in range(0, len(values), 2)] == rows


def test_the_fast_way_reads_common_files():
    assert plain_values("1 2\n30 4\r\n0 6", kernel.WHITESPACE) == [1, 2, 30, 4, 0, 6]
    assert plain_values("1\t2\n", kernel.TAB) == [1, 2]


# Numbers


@given(st.lists(INTEGERS.map(str) | st.from_regex(r"[-+]?[0-9]{1,20}", fullmatch=True) | WORDS, max_size=6))
def test_plain_integers_are_those_that_print_as_they_are_written(texts):
    def is_plain(text):
        try:
            return str(int(text)) == text and -(2**63) < int(text) < 2**63
        except ValueError:
            return False

    values = np.zeros(len(texts), np.int64)
    first_other = kernel.parse_integers(*Fields.of(texts), values)
    assert first_other == next((i for i, text in enumerate(texts) if not is_plain(text)), -1)
    if first_other < 0:
        assert values.tolist() == list(map(int, texts))


def test_weights_are_the_very_floats_of_python():
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 19, 20_000)
    digits = list(map(str, rng.integers(0, 10**sizes)))
    texts = [text[:cut] + "." + text[cut:] for text, cut in zip(digits, rng.integers(0, 6, 20_000), strict=True)]
    texts += digits
    values = weights_of(texts)
    read = np.flatnonzero(~np.isnan(values))
    assert len(read) > 20_000
    assert values[read].tolist() == [float(texts[i]) for i in read]


@given(st.floats(min_value=0, exclude_min=True, allow_infinity=False))
def test_the_shortest_text_of_a_float_is_read_as_it_or_not_at_all(value):
    for text in (repr(value), f"{value:.6f}", f"{value:.17g}"):
        (got,) = weights_of([text])
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
def test_what_is_not_a_plain_positive_decimal_is_left_to_python(text):
    assert np.isnan(weights_of([text]))[0]


@pytest.mark.parametrize(
    "text",
    ["1", "1.", ".5", "007", "0.10", "9007199254740991", "9007199254740993", "0." + "0" * 30 + "1", "1" * 400 + ".0"],
)
def test_plain_decimals_are_floats_or_left_to_python(text):
    (value,) = weights_of([text])
    assert np.isnan(value) or value == float(text)


# Numbering


def twin_numbers(items):
    numbers = {}
    return [numbers.setdefault(item, len(numbers)) for item in items], list(numbers)


@given(st.lists(st.lists(WORDS, max_size=30), max_size=4))
def test_texts_are_numbered_as_a_dict_numbers_them(runs):
    names = TextNames()
    numbers = [number for run in runs for number in names.number(Fields.of(run)).tolist()]
    assert (numbers, names.texts()) == twin_numbers([word for run in runs for word in run])


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30), max_size=4))
def test_integers_are_numbered_as_a_dict_numbers_them(runs):
    names = IntegerNames()
    numbers = [number for run in runs for number in names.number(np.array(run, np.int64)).tolist()]
    assert (numbers, names.names().tolist()) == twin_numbers([value for run in runs for value in run])


def test_integers_may_grow_large_or_negative_on_the_way():
    runs = [[5, 3, 5], [3, 100_000], [7, 2**62, 5], [-1, 3, 100_000, -1], [5]]
    names = IntegerNames()
    numbers = [number for run in runs for number in names.number(np.array(run, np.int64)).tolist()]
    assert (numbers, names.names().tolist()) == twin_numbers([value for run in runs for value in run])


@pytest.mark.parametrize("kind", [TextNames, IntegerNames])
def test_many_names_outgrow_their_table_and_stay_right(kind):
    values = np.random.default_rng(4).integers(-(10**6), 10**6, 60_000)
    names = kind()
    runs = [values[i : i + 7_001] for i in range(0, len(values), 7_001)]
    as_input = (lambda run: Fields.of(map(str, run.tolist()))) if kind is TextNames else (lambda run: run)
    numbers = [number for run in runs for number in names.number(as_input(run)).tolist()]
    found = [int(text) for text in names.texts()] if kind is TextNames else names.names().tolist()
    assert (numbers, found) == twin_numbers(values.tolist())


@given(st.lists(st.lists(INTEGERS.map(str) | WORDS.filter(bool), max_size=10), max_size=5))
def test_fields_become_integers_only_if_all_are(runs):
    names = FieldNames()
    numbers = [number for run in runs for number in names.number(names.prepare(Fields.of(run))).tolist()]
    texts = [text for run in runs for text in run]
    expected, order = twin_numbers(texts)
    assert numbers == expected
    plain = all(text.lstrip("-").isdecimal() and text.isascii() and str(int(text)) == text for text in texts)
    assert names.names().tolist() == ([int(text) for text in order] if plain else order)


def test_runs_prepared_before_the_first_word_are_numbered_after_it():
    names = FieldNames()
    prepared = [names.prepare(Fields.of(run)) for run in (["1", "2"], ["2", "x"], ["3", "1"])]
    assert [names.number(run).tolist() for run in prepared] == [[0, 1], [1, 2], [3, 0]]
    assert names.names().tolist() == ["1", "2", "x", "3"]


def collide(monkeypatch, seeds, keep_bits=0):
    """Give all names too long to be their own key keys that share all but a few bits, under the given seeds."""
    honest = Fields.keys

    def keys(self, seed):
        found = honest(self, seed)
        if seed in seeds:
            found[self.ends - self.starts >= 16] &= np.uint64((1 << keep_bits) - 1)
        return found

    monkeypatch.setattr(Fields, "keys", keys)


@pytest.mark.parametrize("seeds", [{0}, {0, 1}, {0, 2}, {0, 1, 2, 3}])
@pytest.mark.parametrize("keep_bits", [0, 3])
def test_names_with_one_key_are_still_told_apart(monkeypatch, seeds, keep_bits):
    collide(monkeypatch, seeds, keep_bits)
    x, y, z = "x" * 16, "y" * 16, "zé" * 20
    runs = [[x], [x, "x", x], [y, x, z], ["y", "w" * 99, y], [f"a rather long name {i}" for i in range(50)], [z, "7"]]
    names = TextNames()
    numbers = [number for run in runs for number in names.number(Fields.of(run)).tolist()]
    assert (numbers, names.texts()) == twin_numbers([word for run in runs for word in run])


def test_a_file_whose_names_have_one_key_reads_right(monkeypatch, tmp_path):
    collide(monkeypatch, {0})
    monkeypatch.setattr("efge.graph.text_lines._BLOCK", 64)
    path = tmp_path / "graph.txt"
    edges = [(f"a-rather-long-name-{i % 17}", f"m{i % 23}") for i in range(200)]
    path.write_text("".join(f"{u} {v}\n" for u, v in edges))
    assert efge.read_graph(path).fingerprint() == efge.as_graph(edges).fingerprint()


def test_names_differ_by_any_byte_and_by_their_length():
    texts = [
        "",
        "\x00",
        "\x00\x00",
        *("a" * size for size in range(1, 40)),
        *("b" + "a" * size for size in range(1, 40)),
    ]
    texts += ["a" * size + "b" for size in range(1, 40)]
    assert TextNames().number(Fields.of(texts)).tolist() == list(range(len(texts)))


@given(st.lists(st.integers() | st.text(max_size=3) | st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=20))
def test_objects_are_numbered_as_a_dict_numbers_them(items):
    names = ObjectNames()
    assert (names.number(items).tolist(), names.names().tolist()) == twin_numbers(items)


# Keeping and finding


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
def test_name_arrays_hold_plain_names(names, dtype, kept):
    array = name_array(names)
    assert array.dtype == dtype
    assert array.tolist() == kept
    assert list(map(type, array.tolist())) == list(map(type, kept))


def test_the_caller_may_still_write_to_an_array_of_names():
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
def test_texts_are_integers_only_if_printing_gives_them_again(texts, names):
    assert names_of(texts).tolist() == names


def test_a_name_of_five_thousand_digits_is_a_name(write):
    # Python refuses to convert more than 4300 digits.
    graph = efge.read_graph(write("graph.txt", f"1 {'9' * 5000}\n"))
    assert graph.n_nodes == 2


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3), unique=True, max_size=20), st.data())
def test_an_index_finds_integers_as_a_dict_does(names, data):
    wanted = data.draw(st.lists(st.integers(-3, 3) | INTEGERS | st.floats(-3, 3) | st.text(max_size=2)))
    twin = {name: row for row, name in enumerate(names)}
    found = NameIndex(name_array(names)).rows(wanted).tolist()
    assert found == [twin.get(name, -1) for name in wanted]


def test_node_names_given_by_hand_that_are_not_text_are_refused(write):
    path = write("graph.txt", "a b\n")
    with pytest.raises(GraphError):
        efge.read_graph(path, nodes=["\ud800"])


# Names in a text

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
def test_escaped_names_come_back(name):
    assert unescaped(escaped(name)) == name
    assert unescaped(escaped(name, keep=" ")) == name


@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join) | st.text(st.characters(exclude_categories=["Cs"])))
def test_an_escaped_name_is_one_word_that_can_be_seen(name):
    word = escaped(name)
    assert word.split() == [word]
    assert not set(word) & {"\0", "\ufeff"}
    assert escaped(name, keep=" ").count(" ") == name.count(" ")


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
def test_only_what_would_be_misread_is_escaped(name, word):
    assert escaped(name) == word
    assert unescaped(word) == name


def test_names_that_are_written_alike_or_cannot_be_written_are_refused():
    assert written_names(name_array([1, "a b", (0, 1)])) == ["1", r"a\u0020b", r"(0,\u00201)"]
    with pytest.raises(GraphError, match="cannot be told apart"):
        written_names(name_array([1, "1"]))
    with pytest.raises(GraphError, match="a name can be written"):
        written_names(name_array([10**5000]))


def test_more_nodes_than_have_numbers_are_refused(monkeypatch):
    monkeypatch.setattr("efge.graph.names._MOST_NODES", 3)
    for names in (["1", "2", "3"], ["a", "b", "c"], ["1", "2", "c"]):
        numbered = FieldNames()
        numbered.number(numbered.prepare(Fields.of(names)))
        with pytest.raises(GraphError, match="a graph has up to 3 nodes; this one has more"):
            numbered.number(numbered.prepare(Fields.of(["4"])))
