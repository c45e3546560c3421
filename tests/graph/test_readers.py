"""Files of every format become the graph that was written, or a GraphError that names file, line and rule."""

import bz2
import csv
import gzip
import io
import lzma
import re
import subprocess
import sys
import unicodedata

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import efge
from efge import Graph, GraphError, as_graph, read_graph
from helpers import run

EDGES = [("ann", "bob", 2.0), ("bob", "cid", 0.5), ("cid", "ann", 1.0), ("dan", "dan", 3.0)]
NUMBERED = [(0, 1, 2.0), (0, 2, 1.0), (1, 2, 0.5), (3, 3, 3.0)]


def zstd(data):
    return pa.Codec("zstd").compress(data, asbytes=True)


PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}


def named_edges(graph):
    """Every edge as its two names, in either direction where the graph is undirected, and its weight."""
    matrix = graph.to_scipy().tocoo()
    names = graph.names.tolist()
    return {
        (names[u], names[v]): weight for u, v, weight in zip(matrix.row, matrix.col, matrix.data.tolist(), strict=True)
    }


def rows_text(edges, delimiter):
    return "".join(delimiter.join(map(str, edge)) + "\n" for edge in edges)


def frame(edges):
    return pd.DataFrame(edges, columns=["source", "target", "weight"])


def buffer(write):
    stream = io.BytesIO()
    write(stream)
    return stream.getvalue()


def networkx_graph(edges):
    graph = nx.Graph()
    graph.add_weighted_edges_from(edges)
    return graph


def sparse(edges):
    return as_graph(edges).to_scipy()


def arrow_stream(edges):
    def write(stream):
        table = pa.Table.from_pandas(frame(edges))
        with pa.ipc.new_stream(stream, table.schema) as writer:
            writer.write_table(table)

    return buffer(write)


def feather(edges):
    return buffer(lambda stream: pa.feather.write_feather(pa.Table.from_pandas(frame(edges)), stream))


def pajek(edges):
    names = list(dict.fromkeys(name for edge in edges for name in edge[:2]))
    lines = [f"*Vertices {len(names)}", *(f'{i} "{name}"' for i, name in enumerate(names, 1)), "*Edges"]
    lines += [f"{names.index(u) + 1} {names.index(v) + 1} {weight}" for u, v, weight in edges]
    return "\n".join(lines).encode() + b"\n"


# What each format looks like; those of the second table keep no names but 0 to n - 1.
NAMED_FILES = {
    "graph.txt": lambda edges: rows_text(edges, " ").encode(),
    "graph.edgelist": lambda edges: rows_text(edges, "   ").encode(),
    "graph": lambda edges: rows_text(edges, "\t").encode(),
    "graph.tsv": lambda edges: rows_text(edges, "\t").encode(),
    "graph.csv": lambda edges: rows_text(edges, ",").encode(),
    "semicolons.csv": lambda edges: rows_text(edges, ";").encode(),
    "header.csv": lambda edges: frame(edges).to_csv(index=False).encode(),
    "header.tsv": lambda edges: frame(edges).to_csv(index=False, sep="\t").encode(),
    "graph.parquet": lambda edges: buffer(frame(edges).to_parquet),
    "graph.pq": lambda edges: buffer(frame(edges).to_parquet),
    "graph.feather": feather,
    "graph.arrow": feather,
    "stream.arrow": arrow_stream,
    "graph.ipc": feather,
    "graph.graphml": lambda edges: buffer(lambda stream: nx.write_graphml(networkx_graph(edges), stream)),
    "graph.gml": lambda edges: buffer(lambda stream: nx.write_gml(networkx_graph(edges), stream)),
    "graph.net": pajek,
    "graph.pajek": pajek,
}
NUMBERED_FILES = {
    "graph.mat": lambda edges: buffer(lambda stream: scipy.io.savemat(stream, {"network": sparse(edges)})),
    "dense.mat": lambda edges: buffer(lambda stream: scipy.io.savemat(stream, {"A": sparse(edges).toarray()})),
    "graph.npz": lambda edges: buffer(lambda stream: sp.save_npz(stream, sparse(edges))),
    "graph.mtx": lambda edges: buffer(lambda stream: scipy.io.mmwrite(stream, sparse(edges))),
    "graph.mm": lambda edges: buffer(lambda stream: scipy.io.mmwrite(stream, sparse(edges))),
}
FILES = {**NAMED_FILES, **NUMBERED_FILES}


# Round trips


@pytest.mark.parametrize("name", NAMED_FILES)
def test_a_graph_with_names_reads_back_the_same(write, name):
    graph = read_graph(write(name, NAMED_FILES[name](EDGES)))
    assert graph.fingerprint() == as_graph(EDGES).fingerprint()


@pytest.mark.parametrize("name", FILES)
def test_a_graph_with_numbers_reads_back_the_same(write, name):
    graph = read_graph(write(name, FILES[name](NUMBERED)))
    assert named_edges(graph) == named_edges(as_graph(NUMBERED))
    assert graph.fingerprint() == as_graph(NUMBERED).fingerprint()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("suffix", PACKERS)
def test_every_format_may_be_packed(write, name, suffix):
    path = write(f"{name}.{suffix}", PACKERS[suffix](FILES[name](NUMBERED)))
    assert read_graph(path).fingerprint() == as_graph(NUMBERED).fingerprint()


@pytest.mark.parametrize("name", FILES)
def test_a_format_may_be_named_instead_of_the_suffix(write, name):
    given = name.partition(".")[2]
    if given in ("", "txt"):
        given = "edgelist"
    known = {"pq": "parquet", "ipc": "arrow", "net": "pajek", "mm": "mtx"}
    path = write("something", FILES[name](NUMBERED))
    graph = read_graph(path, format=known.get(given, given).upper())
    assert graph.fingerprint() == as_graph(NUMBERED).fingerprint()


@pytest.mark.parametrize("name", FILES)
def test_every_format_can_drop_weights_and_loops_and_be_directed(write, name):
    path = write(name, FILES[name](NUMBERED))
    graph = read_graph(path, weighted=False, drop_self_loops=True)
    assert graph.fingerprint() == as_graph([edge[:2] for edge in NUMBERED[:3]], nodes=range(4)).fingerprint()
    directed = read_graph(path, directed=True)
    assert directed.directed
    assert set(named_edges(directed)) >= {edge[:2] for edge in NUMBERED}


@pytest.mark.parametrize("name", FILES)
def test_isolated_nodes_of_a_file_keep_their_rows(write, name):
    nodes = write("nodes.txt", "9\n2\n8\n0\n")
    graph = read_graph(write(name, FILES[name](NUMBERED)), nodes=nodes)
    assert set(graph.names.tolist()) == {0, 1, 2, 3, 8, 9}
    assert graph.n_isolated == 2
    # In front of the nodes of a list of edges, behind those of a format that lists its nodes itself.
    assert graph.names.tolist() in ([9, 2, 8, 0, 1, 3], [9, 2, 8, 0, 3, 1], [0, 1, 2, 3, 9, 8])


@pytest.mark.parametrize("name", FILES)
def test_as_graph_of_a_path_is_read_graph(write, name):
    path = write(name, FILES[name](NUMBERED))
    assert as_graph(str(path)).fingerprint() == as_graph(path).fingerprint() == read_graph(path).fingerprint()


@pytest.mark.parametrize(
    "text", ["ann bob cid\nbob cid\ndan\n", "#c\nann\tbob\tcid\nbob\tcid\ndan\n", "ann,bob,cid\nbob,cid\ndan"]
)
def test_adjacency_lists_have_a_line_for_each_node(write, text):
    graph = read_graph(write("graph.adjlist", text))
    assert (
        graph.fingerprint()
        == as_graph([("ann", "bob"), ("ann", "cid"), ("bob", "cid")], nodes=["ann", "bob", "cid", "dan"]).fingerprint()
    )


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


# Text, as it comes


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
@pytest.mark.parametrize("block", [1, 5, 1 << 21])
def test_text_is_read_as_it_comes(write, monkeypatch, kind, block):
    monkeypatch.setattr("efge.graph.text_lines._BLOCK", block)
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


@pytest.mark.parametrize("kind", IDS)
def test_names_are_integers_only_if_all_are_plain(write, kind):
    text, names = IDS[kind]
    assert read_graph(write("graph.txt", text)).names.tolist() == names


@pytest.mark.parametrize("word", ["x", "007", "-0", str(2**63), "\u00e9"])
@pytest.mark.parametrize("block", [1000, 1 << 21])
def test_a_word_at_the_very_end_turns_all_names_into_text_and_keeps_their_order(write, monkeypatch, word, block):
    monkeypatch.setattr("efge.graph.text_lines._BLOCK", block)
    rng = np.random.default_rng(5)
    pairs = rng.integers(0, 3000, (5000, 2)).tolist()
    graph = read_graph(write("graph.txt", rows_text(pairs, " ") + f"{word} 5\n"))
    order = list(dict.fromkeys([str(name) for pair in pairs for name in pair] + [word]))
    assert graph.names.tolist() == (list(map(int, order)) if word == str(2**63) else order)
    expected = as_graph([(str(u), str(v)) for u, v in pairs] + [(word, "5")])
    assert np.array_equal(graph.indices, expected.indices)


def test_a_word_in_the_nodes_file_turns_all_names_into_text(write):
    graph = read_graph(write("graph.txt", "1 2\n"), nodes=write("nodes.txt", "2\nx\n1\n"))
    assert graph.names.tolist() == ["2", "x", "1"]
    assert graph.neighbors("1") == ["2"]


def test_nodes_may_be_a_list(write):
    path = write("graph.txt", "1 2\n")
    assert read_graph(path, nodes=[5, 2]).names.tolist() == [5, 2, 1]
    assert read_graph(path, nodes=[]).names.tolist() == [1, 2]
    assert read_graph(path, nodes=(str(name) for name in (3, 1))).names.tolist() == [3, 1, 2]


def test_a_nodes_file_may_have_a_heading_and_more_columns_and_be_packed(write):
    nodes = write("nodes.tsv.gz", gzip.compress(b"id\tyear\nb c\t1999\nd\t2000\n"))
    assert read_graph(write("graph.tsv", "a\tb c\n"), nodes=nodes).names.tolist() == ["b c", "d", "a"]


def test_names_with_spaces_in_a_nodes_file_stay_whole(write):
    graph = read_graph(write("graph.csv", "Oslo,New York\n"), nodes=write("nodes.txt", "New York\nLos Angeles\n"))
    assert graph.names.tolist() == ["New York", "Los Angeles", "Oslo"]


def test_names_with_spaces_in_a_nodes_file_stay_whole_beside_graphml(write):
    edges = [("Oslo", "New York", 1.0)]
    path = write("graph.graphml", NAMED_FILES["graph.graphml"](edges))
    graph = read_graph(path, nodes=write("nodes.txt", "New York\nLos Angeles\n"))
    assert set(graph.names.tolist()) == {"New York", "Los Angeles", "Oslo"}


@pytest.mark.parametrize("name", ["graph.graphml", "graph.gml", "graph.net", "graph.txt", "graph.csv"])
@pytest.mark.parametrize(
    ("edges", "nodes"), [([("a", "1", 1.0)], "1\n7\n"), ([("2", "1", 1.0)], "1\nx\n"), ([("2", "1", 1.0)], ["1", "x"])]
)
def test_nodes_are_found_in_the_graph_whatever_their_names_turn_into(write, name, edges, nodes):
    path = write(name, NAMED_FILES[name](edges))
    graph = read_graph(path, nodes=write("nodes.txt", nodes) if isinstance(nodes, str) else nodes)
    assert (graph.n_nodes, graph.n_isolated) == (3, 1)


def test_standard_input_is_a_dash():
    code = "import efge; print(efge.read_graph('-', directed=True).fingerprint(), efge.as_graph([(1, 2)]))"
    for data in (b"a b\nb c\n", gzip.compress(b"a b\nb c\n")):
        result = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=True)
        expected = as_graph([("a", "b"), ("b", "c")], directed=True).fingerprint()
        assert result.stdout.decode().split()[0] == expected


def test_bad_standard_input_is_called_that(monkeypatch):
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"a b\nc\n")))
    monkeypatch.setattr("sys.stdin", stdin)
    with pytest.raises(GraphError, match="standard input, line 2: an edge has 2 fields"):
        read_graph("-")


@pytest.mark.parametrize("suffix", PACKERS)
def test_packed_files_may_have_several_parts(write, suffix):
    path = write(f"graph.txt.{suffix}", PACKERS[suffix](b"a b\n") + PACKERS[suffix](b"b c\n"))
    assert read_graph(path).fingerprint() == as_graph([("a", "b"), ("b", "c")]).fingerprint()


@pytest.mark.parametrize("suffix", PACKERS)
def test_packed_files_are_known_without_their_suffix(write, suffix):
    assert read_graph(write("graph.txt", PACKERS[suffix](b"a b\n"))).n_edges == 1


# Columns and weights


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


def test_headings_choose_the_columns(write):
    text = "weight,kind,target,source\n2,x,b,a\n3,y,c,b\n"
    graph = read_graph(write("graph.csv", text), directed=True)
    assert named_edges(graph) == {("a", "b"): 2, ("b", "c"): 3}


@pytest.mark.parametrize(
    "options", [{"source": "from", "target": "to"}, {"source": "from", "target": "to", "weighted": True}]
)
def test_a_column_called_weight_is_the_weight_in_any_format(write, options):
    table = pd.DataFrame({"from": ["a"], "to": ["b"], "weight": [2.5]})
    by_text = read_graph(write("graph.csv", table.to_csv(index=False)), **options)
    by_table = read_graph(write("graph.parquet", buffer(table.to_parquet)), **options)
    assert by_text.fingerprint() == by_table.fingerprint()


@pytest.mark.parametrize("options", [{"source": 1}, {"target": 0}, {"source": "b"}, {"target": "a"}])
def test_one_column_never_makes_both_ends(write, options):
    try:
        graph = read_graph(write("graph.csv", "a,b\nx,y\ny,z\n"), header=True, **options)
    except GraphError:
        return
    assert graph.n_self_loops == 0


def test_semicolons_with_decimal_commas_are_not_split_at_the_commas(write):
    path = write("graph.csv", "ann;bob;1,5\nbob;cid;2,5\n")
    with pytest.raises(GraphError, match="line 1: a weight is a number; got '1,5'"):
        read_graph(path)


@pytest.mark.parametrize("blank", ["\t", "\u00a0", "\x0c", "\t# comment"], ids=ascii)
def test_a_header_is_never_read_as_an_edge(write, blank):
    path = write("graph.tsv", f"{blank}\nsource\ttarget\nann\tbob\n")
    try:
        graph = read_graph(path)
    except GraphError:
        return
    assert graph.names.tolist() == ["ann", "bob"]


def test_a_header_may_be_far_from_the_first_edge(write):
    comments = "# nothing to see\n" * 150_000
    graph = read_graph(write("graph.csv", f"{comments}source,target\n{comments}a,b\n"))
    assert graph.names.tolist() == ["a", "b"]


# Formats of other programs


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("form", ["graphml", "gml"])
def test_files_tell_whether_they_are_directed(tmp_path, directed, form):
    graph = nx.gnp_random_graph(6, 0.5, seed=2, directed=directed)
    getattr(nx, f"write_{form}")(graph, tmp_path / f"graph.{form}")
    assert read_graph(tmp_path / f"graph.{form}").fingerprint() == as_graph(graph).fingerprint()


def test_pajek_arcs_are_directed_and_weights_of_one_are_none(write):
    graph = read_graph(write("graph.net", '*Vertices 3\n1 "a b"\n2 "c"\n3 "d"\n*Arcs\n1 2\n'))
    assert graph.directed
    assert not graph.is_weighted
    assert graph.names.tolist() == ["a b", "c", "d"]


def test_pajek_vertices_of_one_label_are_not_merged(write):
    with pytest.raises(GraphError, match=r"graph\.net"):
        read_graph(write("graph.net", '*Vertices 3\n1 "a"\n2 "b"\n3 "a"\n*Edges\n1 2\n2 3\n'))


def test_gml_on_one_line_keeps_its_labels(write):
    text = 'graph [ node [ id 0 label "a" ] node [ id 1 label "b" ] edge [ source 0 target 1 ] ]\n'
    assert read_graph(write("graph.gml", text)).names.tolist() == ["a", "b"]


def test_gml_without_labels_has_ids(write):
    text = 'graph [\n node [\n id 5 ]\n node [\n id 3 ]\n edge [\n source 5\n target 3\n label "x"\n ]\n]\n'
    assert read_graph(write("graph.gml", text)).names.tolist() == [5, 3]


def test_gml_with_an_edge_twice_merges_it(write):
    edge = "edge [ source 0 target 1 value 2 ]"
    text = f"graph [\n node [ id 0 ]\n node [ id 1 ]\n {edge}\n {edge}\n]\n"
    graph = read_graph(write("graph.gml", text), weight="value")
    assert graph.weights.tolist() == [4, 4]


def test_gml_may_be_in_utf8(write):
    nodes = 'node [\n id 0\n label "zo\u00eb"\n ]\n node [\n id 1\n label "b"\n ]'
    text = f"graph [\n {nodes}\n edge [ source 0 target 1 ]\n]\n"
    assert read_graph(write("graph.gml", text)).names.tolist() == ["zo\u00eb", "b"]


@pytest.mark.parametrize("name", ["graph.graphml", "graph.gml", "graph.net", "graph.parquet", "graph.csv"])
def test_names_in_any_script_read_back(write, name):
    edges = [("\u05e9\u05dc\u05d5\u05dd", "\U0001f600", 1.5), ("\U0001f600", "New York", 2.0)]
    assert read_graph(write(name, NAMED_FILES[name](edges))).fingerprint() == as_graph(edges).fingerprint()


def test_the_encoding_is_that_of_text_not_of_binary_files(write):
    nodes = write("nodes.txt", "zo\u00eb\n".encode("latin-1"))
    graph = read_graph(write("graph.parquet", FILES["graph.parquet"](EDGES)), nodes=nodes, encoding="latin-1")
    assert "zo\u00eb" in graph


def test_the_attribute_that_is_the_weight_is_chosen_by_name(write):
    graph = nx.Graph()
    graph.add_edge("a", "b", cost=4.0)
    path = write("graph.graphml", buffer(lambda stream: nx.write_graphml(graph, stream)))
    assert read_graph(path, weight="cost").weights.tolist() == [4, 4]
    assert not read_graph(path).is_weighted


def test_the_matrix_of_a_mat_file_is_chosen_or_given(write):
    square, other, labels = sparse(NUMBERED), 2 * sparse(NUMBERED).toarray(), np.ones((4, 2))
    path = write(
        "graph.mat", buffer(lambda s: scipy.io.savemat(s, {"network": square, "group": labels, "other": other}))
    )
    assert read_graph(path).fingerprint() == as_graph(square).fingerprint()
    assert read_graph(path, key="other").fingerprint() == as_graph(other).fingerprint()
    with pytest.raises(GraphError, match=r"graph.mat: no matrix 'nets'; there are: network, group, other"):
        read_graph(path, key="nets")
    path = write("two.mat", buffer(lambda s: scipy.io.savemat(s, {"a": other, "b": other})))
    with pytest.raises(GraphError, match=r"two.mat: give the key of one square matrix.*there are: a, b"):
        read_graph(path)


def test_the_matrix_of_the_suitesparse_collection_is_found(write):
    problem = {"Problem": {"A": sparse(NUMBERED), "title": "x"}}
    path = write("graph.mat", buffer(lambda stream: scipy.io.savemat(stream, problem)))
    assert read_graph(path).fingerprint() == as_graph(NUMBERED).fingerprint()


@pytest.mark.parametrize("field", ["pattern", "integer", "real"])
def test_symmetric_matrix_market_files_are_undirected(write, field):
    value = "" if field == "pattern" else " 1"
    text = f"%%MatrixMarket matrix coordinate {field} symmetric\n% c\n3 3 1\n2 1{value}\n"
    graph = read_graph(write("graph.mtx", text))
    assert (graph.n_nodes, graph.n_edges, graph.directed, graph.is_weighted) == (3, 1, False, False)


# Bad input


BAD_TEXTS = {
    "few fields": ("a b\nb\n", {}, 2, "an edge has 2 fields in this file; got 1"),
    "many fields": ("a b\n# c\n\nb c d\n", {}, 4, "an edge has 2 fields in this file; got 3"),
    "one field": ("a\n", {}, 1, "an edge has two node names; got 1 field"),
    "four fields": ("a b c d\n", {}, 1, "at most a weight; got 4 fields"),
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
    "nul byte": ("a b\nb \0\n", {}, 2, "text has no NUL byte; the file is binary"),
    "nul byte at first": ("\0\0\0\1\n", {}, 1, "text has no NUL byte; the file is binary"),
    "latin-1": ("a b\nb \u00e9\n".encode("latin-1"), {}, 2, "text is in UTF-8; this is not"),
    "latin-1 at first": ("a \u00e9\n".encode("latin-1"), {}, 1, "text is in UTF-8; this is not"),
    "surrogates": (b"a b\nb \xed\xa0\x80\n", {}, 2, "text is in UTF-8; this is not"),
    "utf-16": ("a b\n".encode("utf-16"), {}, 1, "this is UTF-16, so pass encoding='utf-16'"),
    "missing column": ("from,to\na,b\n", {"weight": "cost"}, 1, "no column 'cost'; there are: from, to"),
    "missing number": ("a b\n", {"target": 2}, 1, "no column 2; there are 2, from 0 on"),
    "missing weight": ("# c\na b\n", {"weighted": True}, 2, "a weighted graph has a weight column"),
    "negative column": ("a b\n", {"source": -1}, 1, "no column -1"),
}


@pytest.mark.parametrize("kind", BAD_TEXTS)
@pytest.mark.parametrize("block", [1, 1 << 21])
def test_a_broken_rule_is_told_with_file_and_line(write, monkeypatch, kind, block):
    monkeypatch.setattr("efge.graph.text_lines._BLOCK", block)
    text, options, line, rule = BAD_TEXTS[kind]
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
    assert str(error.value) == f"{path}, line 500000: an edge has 2 fields in this file; got 1"


def test_the_line_of_a_bad_weight_is_right_far_into_a_large_file(write):
    lines = ["source,target,weight", *(f"name{i},name{i + 1},{i + 0.5}" for i in range(300_000))]
    lines[250_000] = "a,b,-1"
    path = write("graph.csv", "\n".join(lines))
    with pytest.raises(GraphError, match=r"graph.csv, line 250001: a weight is finite and positive; got -1"):
        read_graph(path)


@pytest.mark.parametrize("name", ["graph.txt", "graph.csv", "graph.tsv", "graph.adjlist"])
@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n%\n", "\ufeff", "  \t \n"], ids=ascii)
def test_a_file_without_edges_is_refused(write, name, text):
    path = write(name, text)
    with pytest.raises(GraphError, match=re.escape(f"{path}: a graph has at least one edge")):
        read_graph(path)


@pytest.mark.parametrize(
    "name", [name for name in FILES if name.partition(".")[2] not in ("", "txt", "csv", "tsv", "edgelist")]
)
@pytest.mark.parametrize("content", [b"", b"hello world\n", b"\x00\x01\x02\xff" * 20, "\u00e9\n".encode()], ids=repr)
def test_a_malformed_file_is_refused_by_name(write, name, content):
    path = write(name, content)
    with pytest.raises(GraphError) as error:
        read_graph(path)
    assert str(error.value).startswith(str(path))


MALFORMED = {
    "open.graphml": "<graphml><graph>",
    "edge.graphml": '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph>' +
    '<edge source="a"/></graph></graphml>',
    "other.graphml": "<html></html>",
    "open.gml": "graph [\n node [\n id 0\n",
    "missing.gml": 'graph [\n node [\n id 0\n label "a"\n ]\n edge [\n source 0\n target 7\n ]\n]\n',
    "few.net": '*Vertices 3\n1 "a"\n',
    "word.net": '*Vertices two\n1 "a"\n*Edges\n1 2\n',
    "edge.net": '*Vertices 2\n1 "a"\n2 "b"\n*Edges\n1\n',
    "quote.net": '*Vertices 1\n1 "a\n*Edges\n1 1\n',
    "weight.net": '*Vertices 2\n1 "a"\n2 "b"\n*Edges\n1 2 -4\n',
    "head.mtx": "%%MatrixMarket matrix coordinate\n2 2 1\n1 2 1\n",
    "few.mtx": "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n",
    "outside.mtx": "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 1\n",
    "zero.mtx": "%%MatrixMarket matrix coordinate real general\n2 2 1\n0 1 1\n",
    "word.mtx": "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 x\n",
    "oblong.mtx": "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 2 1\n",
    "complex.mtx": "%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 2 1 1\n",
    "negative.mtx": "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 -1\n",
    "nan.mtx": "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 nan\n",
    "array.npz": buffer(lambda stream: np.savez(stream, a=np.ones(3))),
    "none.mat": buffer(lambda stream: scipy.io.savemat(stream, {"labels": np.ones((4, 2))})),
    "words.mat": buffer(lambda stream: scipy.io.savemat(stream, {"a": np.array([["x", "y"], ["z", "w"]], object)})),
    "one.parquet": buffer(pd.DataFrame({"a": [1]}).to_parquet),
    "null.parquet": buffer(pd.DataFrame({"a": ["x", None], "b": ["y", "z"]}).to_parquet),
    "weight.parquet": buffer(pd.DataFrame({"source": [1], "target": [2], "weight": [0.0]}).to_parquet),
    "list.parquet": buffer(pd.DataFrame({"source": [[1]], "target": [[2]]}).to_parquet),
    "twice.arrow": buffer(
        lambda stream: pa.feather.write_feather(pa.table([[1], [2], [3]], names=["source", "target", "target"]), stream)
    ),
    "sum.txt": "a b 1e308\na b 1e308\n",
    "sum.csv": "a,b,1e308\na,b,1e308\n",
    "graph.txt.gz": "a b\n",
    "graph.txt.zst": "a b\n",
    "graph.txt.xz": gzip.compress(b"a b\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_a_file_that_breaks_a_rule_is_refused_by_name(write, name):
    path = write(name, MALFORMED[name])
    with pytest.raises(GraphError) as error:
        read_graph(path)
    assert str(error.value).startswith(str(path))


def test_a_directory_and_a_missing_file_are_refused_by_name(tmp_path):
    with pytest.raises(GraphError, match=re.escape(f"{tmp_path}: a directory")):
        read_graph(tmp_path)
    with pytest.raises(GraphError, match=re.escape(f"{tmp_path / 'no.csv'}: no such file")):
        read_graph(tmp_path / "no.csv")
    with pytest.raises(GraphError, match="no such file"):
        as_graph("no such graph.txt")


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000, "/dev/null/x"], ids=["nul", "long", "below a file"])
def test_a_path_that_cannot_be_is_refused(path):
    with pytest.raises(GraphError):
        read_graph(path)


def test_bad_nodes_are_told_by_the_name_of_their_own_file(write, tmp_path):
    path = write("graph.txt", "a b\n")
    damaged = write("nodes.txt.gz", gzip.compress(b"a\n" * 100)[:-9])
    for nodes in (damaged, tmp_path, tmp_path / "missing", write("nodes.txt", ""), write("latin.txt", b"a\n\xe9\n")):
        with pytest.raises(GraphError) as error:
            read_graph(path, nodes=nodes)
        assert str(error.value).startswith(str(nodes))


def test_bad_nodes_beside_other_formats_are_told_by_the_name_of_their_own_file(write):
    path = write("graph.gml", FILES["graph.gml"](EDGES))
    for nodes in (write("nodes.txt", "# none\n"), write("nodes.txt.xz", lzma.compress(b"a\n" * 100)[:-9])):
        with pytest.raises(GraphError) as error:
            read_graph(path, nodes=nodes)
        assert str(error.value).startswith(str(nodes))


def test_unknown_formats_and_encodings_and_delimiters_are_told(write):
    path = write("graph.txt", "a b\n")
    with pytest.raises(GraphError, match="no format 'xls'; known: edgelist, csv, tsv"):
        read_graph(path, format="xls")
    with pytest.raises(GraphError, match="no encoding 'klingon'"):
        read_graph(path, encoding="klingon")
    with pytest.raises(GraphError, match="a delimiter is one ASCII character"):
        read_graph(path, delimiter="::")


@pytest.mark.parametrize("encoding", ["rot13", "hex", "utf-16", "idna", "undefined", "ascii"])
def test_text_in_another_encoding_is_refused(write, encoding):
    path = write("graph.txt", b"a b\n\xff ")
    with pytest.raises(GraphError):
        read_graph(path, encoding=encoding)


def test_text_that_decodes_to_half_a_character_is_refused(write):
    with pytest.raises(GraphError, match=r"graph\.txt"):
        read_graph(write("graph.txt", b"a +2AA-\n"), encoding="utf-7")


@pytest.mark.parametrize("suffix", PACKERS)
def test_packed_files_that_end_early_are_refused_by_name(write, suffix):
    packed = PACKERS[suffix](rows_text(np.random.default_rng(6).integers(0, 10**6, (3000, 2)).tolist(), " ").encode())
    for cut in (12, 20, len(packed) // 2, len(packed) - 9, len(packed) - 1):
        path = write(f"graph.txt.{suffix}", packed[:cut])
        with pytest.raises(GraphError) as error:
            read_graph(path)
        assert str(error.value).startswith(str(path))


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz"])
def test_packed_files_with_a_wrong_byte_are_refused_by_name(write, suffix):
    packed = bytearray(PACKERS[suffix](rows_text([(i, i * 7) for i in range(3000)], " ").encode()))
    packed[len(packed) // 2] ^= 0x55
    path = write(f"graph.txt.{suffix}", bytes(packed))
    with pytest.raises(GraphError) as error:
        read_graph(path)
    assert str(error.value).startswith(str(path))


# Random files


def check_read(path):
    """Read a file: it is a graph that holds together, or a GraphError that names it."""
    error = None
    try:
        graph = read_graph(path)
        Graph(graph.indptr, graph.indices, graph.weights, graph.names, graph.directed)
    except GraphError as refusal:
        error = str(refusal)
    assert error is None or error.startswith(str(path))


def cuts(content):
    rng = np.random.default_rng(7)
    sizes = {*range(min(len(content), 12)), *rng.integers(0, len(content), 30).tolist()}
    return [content[:size] for size in sorted(sizes)]


def with_wrong_bytes(content):
    rng = np.random.default_rng(8)
    for _ in range(40):
        wrong = bytearray(content)
        for place in rng.integers(0, len(wrong), rng.integers(1, 4)):
            wrong[place] = rng.integers(0, 256)
        yield bytes(wrong)


def random_bytes(content):
    rng = np.random.default_rng(9)
    return [content[: rng.integers(0, 9)] + rng.bytes(rng.integers(1, 60)) for _ in range(10)]


READ_ALL = """
import resource, sys, warnings, efge
warnings.simplefilter("ignore")
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
for path in sys.stdin.read().split():
    try:
        graph = efge.read_graph(path)
        efge.Graph(graph.indptr, graph.indices, graph.weights, graph.names, graph.directed)
        print("graph", flush=True)
    except efge.GraphError as error:
        print("refused" if str(error).startswith(path) else f"refused without its name: {error!r}", flush=True)
    except MemoryError:
        print("refused", flush=True)  # a damaged size
    except BaseException as error:
        print(repr(error).replace(chr(10), " "), flush=True)
"""


def read_apart(paths):
    """What becomes of each file, read in another process: libraries that meet damaged files may end it."""
    outcomes = []
    while len(outcomes) < len(paths):
        rest = "\n".join(map(str, paths[len(outcomes) :]))
        child = subprocess.run(
            [sys.executable, "-c", READ_ALL], input=rest, capture_output=True, text=True, check=False
        )
        outcomes += child.stdout.splitlines()
        if child.returncode:
            outcomes.append(f"the process ended: {child.returncode}: {child.stderr[-500:]}")
    return outcomes


DAMAGES = [(name, damage) for name in FILES for damage in (cuts, with_wrong_bytes, random_bytes)]


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    """What became of damaged files of every format: lists of outcomes by damage and name."""
    folder = tmp_path_factory.mktemp("damaged")
    owners, paths = [], []
    for name, make in FILES.items():
        content = make(EDGES if name in NAMED_FILES else NUMBERED)
        for damage in (cuts, with_wrong_bytes, random_bytes):
            for data in damage(content):
                owners.append((damage, name))
                paths.append(folder / f"{len(paths)}-{name}")
                paths[-1].write_bytes(data)
    found = {}
    for owner, path, outcome in zip(owners, paths, read_apart(paths), strict=True):
        found.setdefault(owner, []).append((path.name, outcome))
    return found


@pytest.mark.parametrize(("name", "damage"), DAMAGES)
def test_a_damaged_file_is_a_graph_or_a_graph_error(damaged, name, damage):
    outcomes = damaged[damage, name]
    assert [outcome for outcome in outcomes if outcome[1] not in ("graph", "refused")] == []


def test_a_matrix_market_file_cut_within_a_number_is_refused(write):
    text = b"%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 5.0e"
    assert read_apart([write("graph.mtx", text)]) == ["refused"]


def arrow_with_wrong_offsets():
    table = pa.table({"source": ["ann", "bob"], "target": ["bob", "cid"]})
    stream = buffer(lambda stream: pa.feather.write_feather(table, stream, compression="uncompressed"))
    offsets = np.array([0, 3, 6], np.int32).tobytes()
    assert stream.count(offsets) == 2
    return stream.replace(offsets, np.array([0, 3, 2**30], np.int32).tobytes())


def test_an_arrow_file_whose_offsets_point_outside_is_refused(write):
    assert read_apart([write("graph.feather", arrow_with_wrong_offsets())]) == ["refused"]


@pytest.mark.parametrize("name", ["graph", "graph.adjlist", *(f"graph.txt.{suffix}" for suffix in PACKERS)])
@settings(max_examples=25)
@given(content=st.binary(max_size=60) | st.text(max_size=30).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_a_graph_or_a_graph_error(write, name, content):
    check_read(write(name, content))


@pytest.mark.parametrize("name", ["graph.txt", "graph.csv", "graph.tsv", "graph.adjlist"])
@settings(max_examples=150)
@given(text=st.text('ab1,;\t \n\r"#%-.0\u00e9\ufeff\u00a0', max_size=40))
def test_any_text_is_a_graph_or_a_graph_error(write, name, text):
    check_read(write(name, text))


LETTERS = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp"), exclude_characters='"\ufeff')
WORDS = st.text(LETTERS, min_size=1, max_size=20) | st.integers(-(2**65), 2**65).map(str)
WEIGHTS = st.floats(1e-9, 1e9).map(repr)


def twin(edges, directed):
    """Names in order of appearance, and a dict of dicts of summed weights."""
    names = list(dict.fromkeys(name for edge in edges for name in edge[:2]))
    rows = {name: {} for name in names}
    for u, v, weight in edges:
        for a, b in {(u, v)} if directed else {(u, v), (v, u)}:
            rows[a][b] = rows[a].get(b, 0.0) + float(weight)
    return names, rows


def check_against_twin(graph, edges, directed):
    names, rows = twin(edges, directed)
    plain = all(re.fullmatch("0|-?[1-9][0-9]*", name, re.ASCII) for name in names)
    assert graph.names.tolist() == ([int(name) for name in names] if plain else names)
    found = {name: {} for name in names}
    for (u, v), weight in named_edges(graph).items():
        found[str(u)][str(v)] = weight
    assert found == rows
    place = {name: i for i, name in enumerate(names)}
    for name in graph:
        assert list(map(str, graph.neighbors(name))) == sorted(rows[str(name)], key=place.get)


@given(st.lists(st.tuples(WORDS, WORDS, WEIGHTS), min_size=1, max_size=12), st.booleans())
def test_tabs_read_back_as_the_dict_twin(write, edges, directed):
    path = write("graph.tsv", rows_text(edges, "\t"))
    check_against_twin(read_graph(path, directed=directed, comments="", header=False), edges, directed)


CSV_WORDS = st.text(LETTERS | st.sampled_from(' ,;"\t'), min_size=1, max_size=9) | st.integers(-5, 5).map(str)


@given(st.lists(st.tuples(CSV_WORDS, CSV_WORDS, WEIGHTS), min_size=1, max_size=12), st.booleans())
@pytest.mark.parametrize("terminator", ["\n", "\r\n"])
def test_quoted_csv_reads_back_as_the_dict_twin(write, terminator, edges, directed):
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator=terminator).writerows(edges)
    path = write("graph.csv", text.getvalue())
    graph = read_graph(path, directed=directed, comments="", header=False, delimiter=",")
    check_against_twin(graph, edges, directed)


@given(st.lists(st.tuples(WORDS, WORDS, WEIGHTS), min_size=1, max_size=40), st.integers(1, 60))
def test_the_size_of_blocks_does_not_matter(write, edges, block):
    path = write("graph.tsv", rows_text(edges, "\t"))
    whole = read_graph(path, comments="", header=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("efge.graph.text_lines._BLOCK", block)
        assert read_graph(path, comments="", header=False).fingerprint() == whole.fingerprint()


# The paper's networks


@pytest.mark.parametrize(
    ("name", "nodes", "edges", "components"),
    [
        ("citeseer", 3_312, 4_660, 438),
        ("cora", 2_708, 5_278, 78),
        ("dblp", 27_199, 66_832, 2_115),
        ("astroph", 17_903, 197_031, 1),
        ("hepth", 8_638, 24_827, 1),
        ("facebook", 4_039, 88_234, 1),
        ("grqc", 4_158, 13_428, 1),
        ("dolphins", 62, 159, 1),
    ],
)
def test_the_networks_of_the_paper_have_their_counts(networks, name, nodes, edges, components):
    graph = read_graph(networks / name / "edges.tsv", nodes=networks / name / "nodes.txt")
    assert (graph.n_nodes, graph.n_edges, graph.n_components) == (nodes, edges, components)
    loops = {"citeseer": 124, "astroph": 59, "hepth": 21, "grqc": 6}
    assert graph.n_self_loops == loops.get(name, 0)
    assert efge.as_graph(graph, drop_self_loops=True).n_edges == edges - graph.n_self_loops


@pytest.mark.parametrize("text", ["source,target,trips\na,b,3\n", "trips\tfrom\tto\n0.5\ta\tb\n"])
def test_a_column_of_numbers_that_is_not_read_is_pointed_out(write, text):
    path = write("graph.tsv" if "\t" in text else "graph.csv", text)
    with pytest.warns(UserWarning, match=r"line 1: the column 'trips' is not read; .*weight='trips' .--weight trips."):
        assert not efge.read_graph(path).is_weighted
    assert efge.read_graph(path, weight="trips").is_weighted
    assert not efge.read_graph(path, weighted=False).is_weighted


def test_columns_that_cannot_be_a_weight_are_left_alone_without_a_word(write):
    for number, extra in enumerate(("kind\na,b,friend", "day\na,b,2020-01-01", "x,y\na,b,1,2", "change\na,b,-1")):
        assert not efge.read_graph(write(f"{number}.csv", f"source,target,{extra}\n")).is_weighted


def test_an_embedding_is_said_to_be_no_graph(tmp_path):
    path = tmp_path / "vectors.npz"
    efge.Embedding([[1.0], [2.0]], ["a", "b"]).save(path)
    with pytest.raises(efge.GraphError, match=r"vectors\.npz: this is an embedding, vectors under names, no graph"):
        efge.read_graph(path)


def test_the_shell_is_told_of_its_own_options(write):
    done = run("info", write("wide.txt", "a b c d e\n"))
    assert "as source=0, target=1, weight=2 (--source 0 --target 1 --weight 2)" in done.stderr
    done = run("info", write("headed.txt", "a b c\na b 1\n"))
    assert "if this line names the columns, pass header=True (--header)" in done.stderr
    graph = write("graph.txt", "a b\n")
    done = run("embed", graph, "-o", graph.with_suffix(".what"))
    assert "pass one as format= (--format, or --to for what is written), known: npz" in done.stderr
    done = run("info", write("graph.csv", "source,target,trips\na,b,3\n"), "--unweighted")
    assert (done.returncode, done.stderr) == (0, "")
