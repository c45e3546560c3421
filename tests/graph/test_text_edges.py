"""Edge lists and adjacency lists as text: layouts, names, columns, weights, and errors with their lines."""

import csv
import io
import re
import unicodedata

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import efge
from efge import GraphError, as_graph, read_graph
from graph_files import buffer, named_edges, rows_text
from helpers import run


@pytest.mark.parametrize(
    "text", ["ann bob cid\nbob cid\ndan\n", "#c\nann\tbob\tcid\nbob\tcid\ndan\n", "ann,bob,cid\nbob,cid\ndan"]
)
def test_adjacency_lists_have_a_line_for_each_node(write, text):
    graph = read_graph(write("graph.adjlist", text))
    assert (
        graph.fingerprint()
        == as_graph([("ann", "bob"), ("ann", "cid"), ("bob", "cid")], nodes=["ann", "bob", "cid", "dan"]).fingerprint()
    )


@pytest.mark.parametrize(
    ("data", "kind"), [(b"\x89PNG\r\n\x1a\n\0\0", "a PNG image"), (b"%PDF-1.4\n%\xe2\n", "a PDF document")]
)
@pytest.mark.parametrize("name", ["graph.csv", "graph.png"])
def test_a_picture_instead_of_a_graph_is_told(tmp_path, name, data, kind):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(GraphError, match=f"{name}: a text is read here; this file is {kind}"):
        read_graph(tmp_path / name)


def test_networkx_adjacency_lists_are_read(tmp_path):
    for directed in (True, False):
        graph = nx.gnp_random_graph(12, 0.3, seed=1, directed=directed)
        nx.write_adjlist(graph, tmp_path / "graph.adj")
        found = read_graph(tmp_path / "graph.adj", directed=directed)
        assert named_edges(found) == named_edges(as_graph(graph))
        assert found.n_nodes == 12


def test_an_adjacency_list_has_no_weights(write):
    with pytest.raises(GraphError, match=r"graph\.adjlist: an adjacency list has no weights"):
        read_graph(write("graph.adjlist", "a b\n"), weighted=True)


TEXTS = {
    "crlf": ("a b\r\nb c\r\n", {}),
    "no final newline": ("a b\nb c", {}),
    "crlf without the last": ("a b\r\nb c", {}),
    "blank lines": ("\n\na b\n\n   \n\t\nb c\n\n", {}),
    "comments": ("# one\n% two\na b\n  # three\nb c\n#", {}),
    "other comments": ("// one\na b\nb c\n", {"comments": "/"}),
    "byte order mark": ("\ufeffa b\nb c\n", {}),
    "mark and comment": ("\ufeff# c\na b\nb c\n", {}),
    "mark and header": ("\ufeffsource,target\na,b\nb,c\n", {}),
    "spaces around": ("  a   b  \n b\t c \n", {}),
    "commas and spaces": ("a, b\nb , c\n", {}),
    "tabs": ("a\tb\nb\tc\n", {}),
    "semicolons": ("a;b\nb;c\n", {}),
    "pipes": ("a|b\nb|c\n", {"delimiter": "|"}),
    "quoted": ('"a","b"\n"b","c"\n', {}),
    "header": ("from,to\na,b\nb,c\n", {}),
    "header in capitals": ("Source;Target\na;b\nb;c\n", {}),
    "header behind comments": ("#x\n\nsrc\tdst\na\tb\nb\tc\n", {}),
    "a header to pass over": ("x y\na b\nb c\n", {"header": True}),
    "duplicates": ("a b\nb c\na b\nc b\n", {}),
    "columns": ("x,a,1,b\nx,b,2,c\n", {"source": 1, "target": 3, "delimiter": ","}),
    "columns by name": ("n\tleft\tk\tright\nx\ta\t1\tb\nx\tb\t2\tc\n", {"source": "left", "target": "RIGHT"}),
    "many columns of commas": ("n,left,k,right\nx,a,1,b\nx,b,2,c\n", {"source": "left", "target": "right"}),
    "no weights": ("a b 5\nb c 6\n", {"weighted": False}),
}


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("chunk_size", [1, 5, 1 << 21])
def test_layouts_of_text_give_the_same_graph(write, monkeypatch, kind, chunk_size):
    monkeypatch.setattr("efge.graph.text_lines._CHUNK_SIZE", chunk_size)
    text, options = TEXTS[kind]
    graph = read_graph(write("graph.txt", text), **options)
    assert graph.fingerprint() == as_graph([("a", "b"), ("b", "c")]).fingerprint()


@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "utf-8", "latin-1", "cp1252"]
)
def test_text_may_be_in_any_encoding(write, encoding):
    path = write("graph.tsv", "j\u00fcrgen\tzo\u00eb\n".encode(encoding))
    assert read_graph(path, encoding=encoding).names.tolist() == ["j\u00fcrgen", "zo\u00eb"]


NAMES = [
    "New York",
    "a,b",
    "e\u0301",
    "\u00e9",
    "\u05e9\u05dc\u05d5\u05dd",
    "\u202eabc",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\U0001f1e9\U0001f1ea",
    "O'Brien",
    "a#b",
    "50%",
    "\u4e2d\u6587",
    "\u00a0",
    "\ufeffx",
    "x\u2028y",
    "a\x0bb",
]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_names_are_kept_as_they_are_written(write, name):
    tabs = read_graph(write("graph.tsv", f"start\t{name}\n"))
    quoted = read_graph(write("graph.csv", f'start,"{name}"\n'))
    assert tabs.names.tolist() == quoted.names.tolist() == ["start", name]


def test_composed_and_decomposed_letters_are_different_names(write):
    composed, decomposed = "\u00e9", unicodedata.normalize("NFD", "\u00e9")
    assert read_graph(write("graph.txt", f"{composed} {decomposed}\n")).n_nodes == 2


def test_doubled_quotes_in_a_quoted_field_are_one_quote(write):
    graph = read_graph(write("graph.csv", '"say ""hi""",b\n"""",b\n'))
    assert graph.names.tolist() == ['say "hi"', "b", '"']


IDS = {
    "plain": ("1 2\n-3 0\n", [1, 2, -3, 0]),
    "largest": (f"{2**63 - 1} {-(2**63)}\n", [2**63 - 1, -(2**63)]),
    "larger": (f"{2**63} {2**64}\n1 2\n", [2**63, 2**64, 1, 2]),
    "leading zero": ("007 7\n", ["007", "7"]),
    "minus zero": ("-0 0\n", ["-0", "0"]),
    "plus": ("+5 5\n", ["+5", "5"]),
    "decimal": ("1.0 1\n", ["1.0", "1"]),
    "exponent": ("1e3 1000\n", ["1e3", "1000"]),
    "underscore": ("1_000 1000\n", ["1_000", "1000"]),
    "words": ("1 two\n", ["1", "two"]),
    "arabic digits": ("\u0663 3\n", ["\u0663", "3"]),
    "minus alone": ("- 1\n", ["-", "1"]),
}


@pytest.mark.filterwarnings("ignore:.* are the same number")
@pytest.mark.parametrize("kind", IDS)
def test_names_are_integers_only_if_all_are_plain(write, kind):
    text, names = IDS[kind]
    assert read_graph(write("graph.txt", text)).names.tolist() == names


@pytest.mark.filterwarnings("ignore:.* are the same number")
@pytest.mark.parametrize("word", ["x", "007", "-0", str(2**63), "\u00e9"])
@pytest.mark.parametrize("chunk_size", [1000, 1 << 21])
def test_a_single_word_makes_all_names_text_and_keeps_their_order(write, monkeypatch, word, chunk_size):
    monkeypatch.setattr("efge.graph.text_lines._CHUNK_SIZE", chunk_size)
    rng = np.random.default_rng(5)
    pairs = rng.integers(0, 3000, (5000, 2)).tolist()
    graph = read_graph(write("graph.txt", rows_text(pairs, " ") + f"{word} 5\n"))
    order = list(dict.fromkeys([str(name) for pair in pairs for name in pair] + [word]))
    assert graph.names.tolist() == (list(map(int, order)) if word == str(2**63) else order)
    expected = as_graph([(str(u), str(v)) for u, v in pairs] + [(word, "5")])
    assert np.array_equal(graph.indices, expected.indices)


def test_weights_are_the_floats_that_python_reads(write):
    texts = [
        "1",
        "0.1",
        "1e-300",
        "5E+3",
        ".5",
        "3.",
        "123456789012345678901234567890",
        "0.1000000000000000055511151231",
    ]
    graph = read_graph(write("graph.txt", "".join(f"a n{i} {text}\n" for i, text in enumerate(texts))), directed=True)
    assert graph.weights.tolist() == list(map(float, texts))


def test_column_names_choose_the_columns(write):
    text = "weight,kind,target,source\n2,x,b,a\n3,y,c,b\n"
    graph = read_graph(write("graph.csv", text), directed=True)
    assert named_edges(graph) == {("a", "b"): 2, ("b", "c"): 3}


@pytest.mark.parametrize(
    "options", [{"source": "from", "target": "to"}, {"source": "from", "target": "to", "weighted": True}]
)
def test_a_column_named_weight_is_the_weight_in_any_format(write, options):
    table = pd.DataFrame({"from": ["a"], "to": ["b"], "weight": [2.5]})
    by_text = read_graph(write("graph.csv", table.to_csv(index=False)), **options)
    by_table = read_graph(write("graph.parquet", buffer(table.to_parquet)), **options)
    assert by_text.fingerprint() == by_table.fingerprint()


@pytest.mark.parametrize("options", [{"source": 1}, {"target": 0}, {"source": "b"}, {"target": "a"}])
def test_source_and_target_are_given_together_in_text(write, options):
    with pytest.raises(GraphError, match="source and target go together: give both columns, or none"):
        read_graph(write("graph.csv", "a,b\nx,y\ny,z\n"), header=True, **options)


def test_semicolons_with_decimal_commas_are_not_split_at_the_commas(write):
    path = write("graph.csv", "ann;bob;1,5\nbob;cid;2,5\n")
    with pytest.raises(GraphError, match="line 1: a weight is a number; got '1,5'"):
        read_graph(path)


@pytest.mark.parametrize("blank", ["\t", "\t# comment"], ids=ascii)
def test_a_header_may_follow_blank_lines_and_comments(write, blank):
    graph = read_graph(write("graph.tsv", f"{blank}\nsource\ttarget\nann\tbob\n"))
    assert graph.names.tolist() == ["ann", "bob"]


@pytest.mark.parametrize("line", ["\u00a0", "\x0c"], ids=ascii)
def test_a_line_of_other_white_space_is_not_blank(write, line):
    with pytest.raises(GraphError, match="line 1: an edge has two node names; got 1 field"):
        read_graph(write("graph.tsv", f"{line}\nsource\ttarget\nann\tbob\n"))


def test_a_header_may_be_far_from_the_first_edge(write):
    comments = "# nothing to see\n" * 150_000
    graph = read_graph(write("graph.csv", f"{comments}source,target\n{comments}a,b\n"))
    assert graph.names.tolist() == ["a", "b"]


INVALID_TEXTS = {
    "few fields": ("a b\nb\n", {}, 2, "an edge has 2 fields in this file; got 1"),
    "many fields": ("a b\n# c\n\nb c d\n", {}, 4, "an edge has 2 fields in this file; got 3"),
    "one field": ("a\n", {}, 1, "an edge has two node names; got 1 field"),
    "four fields": ("a b c d\n", {}, 1, "at most a weight; got 4 columns"),
    "braces": ("a b {'weight': 1}\n", {}, 1, "got 4 fields; for attributes in braces"),
    "word weight": ("a b 1\nb c one\n", {}, 2, "a weight is a number; got 'one'"),
    "hexadecimal weight": ("a b 0x10\n", {}, 1, "a weight is a number; got '0x10'"),
    "underscore weight": ("a b 1_0\n", {}, 1, "a weight is a number; got '1_0'"),
    "zero weight": ("a b 1\n\nb c 0\n", {}, 3, "a weight is finite and positive; got 0"),
    "tiny weight": ("a b 1e-400\n", {}, 1, "a weight is finite and positive; got 1e-400"),
    "negative weight": ("a b 1\r\nb c -2.5\r\n", {}, 2, "a weight is finite and positive; got -2.5"),
    "nan weight": ("a b nan\n", {}, 1, "a weight is finite and positive; got nan"),
    "inf weight": ("%\na b Infinity\n", {}, 2, "a weight is finite and positive; got Infinity"),
    "huge weight": ("a b 1e999\n", {}, 1, "a weight is finite and positive; got 1e999"),
    "empty weight": ("a,b,1\nb,c,\n", {}, 2, "a weight is a number; got ''"),
    "empty name": ("a,b\n,c\n", {}, 2, "a node name is not empty"),
    "empty last name": ("a,b\r\nb,\r\nc,d\r\n", {}, 2, "a node name is not empty"),
    "empty quoted name": ('a,b\n"",c\n', {}, 2, "a node name is not empty"),
    "nul byte": ("a b\nb \0\n", {}, 2, "text has no NUL byte; this file is binary"),
    "nul byte at first": ("\0\0\0\1\n", {}, 1, "text has no NUL byte; this file is binary"),
    "latin-1": ("a b\nb \u00e9\n".encode("latin-1"), {}, 2, "text is in UTF-8; this is not"),
    "latin-1 at first": ("a \u00e9\n".encode("latin-1"), {}, 1, "text is in UTF-8; this is not"),
    "surrogates": (b"a b\nb \xed\xa0\x80\n", {}, 2, "text is in UTF-8; this is not"),
    "utf-16": ("a b\n".encode("utf-16"), {}, 1, "this is UTF-16, so pass encoding='utf-16'"),
    "missing column": ("from,to\na,b\n", {"weight": "cost"}, 1, "no column 'cost'; there are: from, to"),
    "missing number": ("a b\n", {"target": 2}, 1, "no column 2; there are 2, counted from 0"),
    "missing weight": ("# c\na b\n", {"weighted": True}, 2, "a weighted graph has a weight column"),
    "negative column": ("a b\n", {"source": -1}, 1, "no column -1"),
}


@pytest.mark.parametrize("kind", INVALID_TEXTS)
@pytest.mark.parametrize("chunk_size", [1, 1 << 21])
def test_an_error_states_file_line_and_rule(write, monkeypatch, kind, chunk_size):
    monkeypatch.setattr("efge.graph.text_lines._CHUNK_SIZE", chunk_size)
    text, options, line, rule = INVALID_TEXTS[kind]
    path = write("graph.txt", text)
    with pytest.raises(GraphError) as error:
        read_graph(path, **options)
    assert str(error.value).startswith(f"{path}, line {line}: ")
    assert rule in str(error.value)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("plain", [True, False])
def test_the_line_is_right_far_into_a_large_file(write, end, plain):
    lines = [f"{i} {i + 1}" if plain else f"n{i} m{i + 1}" for i in range(600_000)]
    lines[3] = "# a comment"
    lines[400_000] = ""
    lines[499_999] = "only_one"
    path = write("graph.txt", end.join(lines))
    assert path.stat().st_size > 3 * (1 << 21)
    with pytest.raises(GraphError) as error:
        read_graph(path)
    remedy = "to leave such lines out, pass skip_bad=True (--skip-bad)"
    assert str(error.value) == f"{path}, line 500000: an edge has 2 fields in this file; got 1; {remedy}"


def test_the_line_of_a_bad_weight_is_right_far_into_a_large_file(write):
    lines = ["source,target,weight", *(f"name{i},name{i + 1},{i + 0.5}" for i in range(300_000))]
    lines[250_000] = "a,b,-1"
    path = write("graph.csv", "\n".join(lines))
    with pytest.raises(GraphError, match=r"graph.csv, line 250001: a weight is finite and positive; got -1"):
        read_graph(path)


LETTERS = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp"), exclude_characters='"\ufeff')


WORDS = st.text(LETTERS, min_size=1, max_size=20) | st.integers(-(2**65), 2**65).map(str)


WEIGHTS = st.floats(1e-9, 1e9).map(repr)


def slow_twin(edges, directed):
    """Return names in the order of their appearance, and a dict of dicts of summed weights."""
    names = list(dict.fromkeys(name for edge in edges for name in edge[:2]))
    rows = {name: {} for name in names}
    for u, v, weight in edges:
        for a, b in {(u, v)} if directed else {(u, v), (v, u)}:
            rows[a][b] = rows[a].get(b, 0.0) + float(weight)
    return names, rows


def check_against_twin(graph, edges, directed):
    names, rows = slow_twin(edges, directed)
    plain = all(re.fullmatch("0|-?[1-9][0-9]*", name, re.ASCII) for name in names)
    assert graph.names.tolist() == ([int(name) for name in names] if plain else names)
    found = {name: {} for name in names}
    for (u, v), weight in named_edges(graph).items():
        found[str(u)][str(v)] = weight
    assert found == rows
    place = {name: i for i, name in enumerate(names)}
    for name in graph:
        assert list(map(str, graph.neighbors(name))) == sorted(rows[str(name)], key=place.get)


# Names may happen to be 0 and 00, or nan.
@pytest.mark.filterwarnings("ignore::UserWarning")
@given(st.lists(st.tuples(WORDS, WORDS, WEIGHTS), min_size=1, max_size=12), st.booleans())
def test_tab_separated_text_reads_like_the_slow_twin(write, edges, directed):
    path = write("graph.tsv", rows_text(edges, "\t"))
    check_against_twin(read_graph(path, directed=directed, comments="", header=False), edges, directed)


CSV_WORDS = st.text(LETTERS | st.sampled_from(' ,;"\t'), min_size=1, max_size=9) | st.integers(-5, 5).map(str)


# Names may happen to be 0 and 00, or nan.
@pytest.mark.filterwarnings("ignore::UserWarning")
@given(st.lists(st.tuples(CSV_WORDS, CSV_WORDS, WEIGHTS), min_size=1, max_size=12), st.booleans())
@pytest.mark.parametrize("terminator", ["\n", "\r\n"])
def test_quoted_csv_reads_like_the_slow_twin(write, terminator, edges, directed):
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator=terminator).writerows(edges)
    path = write("graph.csv", text.getvalue())
    graph = read_graph(path, directed=directed, comments="", header=False, delimiter=",")
    check_against_twin(graph, edges, directed)


@pytest.mark.filterwarnings("ignore::UserWarning")
@given(st.lists(st.tuples(WORDS, WORDS, WEIGHTS), min_size=1, max_size=40), st.integers(1, 60))
def test_the_chunk_size_does_not_change_the_graph(write, edges, chunk_size):
    path = write("graph.tsv", rows_text(edges, "\t"))
    expected = read_graph(path, comments="", header=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("efge.graph.text_lines._CHUNK_SIZE", chunk_size)
        assert read_graph(path, comments="", header=False).fingerprint() == expected.fingerprint()


@pytest.mark.parametrize("text", ["source,target,trips\na,b,3\n", "trips\tfrom\tto\n0.5\ta\tb\n"])
def test_an_ignored_column_of_numbers_is_a_warning(write, text):
    path = write("graph.tsv" if "\t" in text else "graph.csv", text)
    with pytest.warns(UserWarning, match=r"line 1: the column 'trips' is ignored; .*weight='trips' .--weight trips."):
        assert not efge.read_graph(path).is_weighted
    assert efge.read_graph(path, weight="trips").is_weighted
    assert not efge.read_graph(path, weighted=False).is_weighted


def test_ignored_columns_that_cannot_be_weights_give_no_warning(write):
    for number, extra in enumerate(("kind\na,b,friend", "day\na,b,2020-01-01")):
        assert not efge.read_graph(write(f"{number}.csv", f"source,target,{extra}\n")).is_weighted


def test_messages_name_the_command_line_options(write):
    done = run("info", write("wide.txt", "a b 2 d e\n"))
    assert "as source=0, target=1, weight=2 (--source 0 --target 1 --weight 2)" in done.stderr
    done = run("info", write("headed.txt", "a b c\na b 1\n"))
    assert "if this line names the columns, pass header=True (--header)" in done.stderr
    graph = write("graph.txt", "a b\n")
    done = run("embed", graph, "-o", graph.with_suffix(".what"))
    assert "as format= (--format, or --to for the output), known: npz" in done.stderr
    done = run("info", write("graph.csv", "source,target,trips\na,b,3\n"), "--unweighted")
    assert (done.returncode, done.stderr) == (0, "")
