"""Files of every format give the graph that was written to them."""

import gzip
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
import scipy.io

import efge
from efge import GraphError, as_graph, read_graph
from graph_files import COMPRESSORS, EDGES, FILES, NAMED_FILES, NUMBERED, buffer, named_edges, sparse


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
@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_every_format_may_be_compressed(write, name, suffix):
    path = write(f"{name}.{suffix}", COMPRESSORS[suffix](FILES[name](NUMBERED)))
    assert read_graph(path).fingerprint() == as_graph(NUMBERED).fingerprint()


@pytest.mark.parametrize("name", FILES)
def test_a_format_may_be_named_instead_of_the_suffix(write, name):
    suffix = name.partition(".")[2]
    if suffix in ("", "txt"):
        suffix = "edgelist"
    aliases = {"pq": "parquet", "ipc": "arrow", "net": "pajek", "mm": "mtx"}
    path = write("something", FILES[name](NUMBERED))
    graph = read_graph(path, format=aliases.get(suffix, suffix).upper())
    assert graph.fingerprint() == as_graph(NUMBERED).fingerprint()


@pytest.mark.parametrize("name", FILES)
def test_every_format_can_drop_weights_and_self_loops_and_be_directed(write, name):
    path = write(name, FILES[name](NUMBERED))
    graph = read_graph(path, weighted=False, drop_self_loops=True)
    assert graph.fingerprint() == as_graph([edge[:2] for edge in NUMBERED[:3]], nodes=range(4)).fingerprint()
    directed = read_graph(path, directed=True)
    assert directed.directed
    assert set(named_edges(directed)) >= {edge[:2] for edge in NUMBERED}


@pytest.mark.parametrize("name", FILES)
def test_nodes_of_a_file_come_before_an_edge_list_and_after_listed_nodes(write, name):
    nodes = write("nodes.txt", "9\n2\n8\n0\n")
    graph = read_graph(write(name, FILES[name](NUMBERED)), nodes=nodes)
    assert set(graph.names.tolist()) == {0, 1, 2, 3, 8, 9}
    assert graph.n_isolated == 2
    lists_its_nodes = name.endswith((".json", ".graphml", ".gml", ".net", ".pajek", ".mat", ".npz", ".mtx", ".mm"))
    assert graph.names.tolist() == ([0, 1, 2, 3, 9, 8] if lists_its_nodes else [9, 2, 8, 0, 1, 3])


@pytest.mark.parametrize("name", FILES)
def test_as_graph_of_a_path_reads_the_file(write, name):
    path = write(name, FILES[name](NUMBERED))
    assert as_graph(str(path)).fingerprint() == as_graph(path).fingerprint() == read_graph(path).fingerprint()


def test_a_word_in_the_nodes_file_makes_all_names_text(write):
    graph = read_graph(write("graph.txt", "1 2\n"), nodes=write("nodes.txt", "2\nx\n1\n"))
    assert graph.names.tolist() == ["2", "x", "1"]
    assert graph.neighbors("1") == ["2"]


def test_nodes_may_be_a_list(write):
    path = write("graph.txt", "1 2\n")
    assert read_graph(path, nodes=[5, 2]).names.tolist() == [5, 2, 1]
    assert read_graph(path, nodes=[]).names.tolist() == [1, 2]
    assert read_graph(path, nodes=(str(name) for name in (3, 1))).names.tolist() == [3, 1, 2]


def test_a_nodes_file_may_have_a_header_and_more_columns_and_be_compressed(write):
    nodes = write("nodes.tsv.gz", gzip.compress(b"id\tyear\nb c\t1999\nd\t2000\n"))
    assert read_graph(write("graph.tsv", "a\tb c\n"), nodes=nodes).names.tolist() == ["b c", "d", "a"]


def test_names_in_a_nodes_file_may_have_spaces(write):
    graph = read_graph(write("graph.csv", "Oslo,New York\n"), nodes=write("nodes.txt", "New York\nLos Angeles\n"))
    assert graph.names.tolist() == ["New York", "Los Angeles", "Oslo"]


def test_names_in_a_nodes_file_for_graphml_may_have_spaces(write):
    edges = [("Oslo", "New York", 1.0)]
    path = write("graph.graphml", NAMED_FILES["graph.graphml"](edges))
    graph = read_graph(path, nodes=write("nodes.txt", "New York\nLos Angeles\n"))
    assert set(graph.names.tolist()) == {"New York", "Los Angeles", "Oslo"}


@pytest.mark.parametrize("name", ["graph.graphml", "graph.gml", "graph.net", "graph.txt", "graph.csv"])
@pytest.mark.parametrize(
    ("edges", "nodes"), [([("a", "1", 1.0)], "1\n7\n"), ([("2", "1", 1.0)], "1\nx\n"), ([("2", "1", 1.0)], ["1", "x"])]
)
def test_nodes_match_the_graph_whether_names_are_integers_or_text(write, name, edges, nodes):
    path = write(name, NAMED_FILES[name](edges))
    graph = read_graph(path, nodes=write("nodes.txt", nodes) if isinstance(nodes, str) else nodes)
    assert (graph.n_nodes, graph.n_isolated) == (3, 1)


def test_a_dash_means_standard_input():
    code = "import efge; print(efge.read_graph('-', directed=True).fingerprint(), efge.as_graph([(1, 2)]))"
    for data in (b"a b\nb c\n", gzip.compress(b"a b\nb c\n")):
        result = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=True)
        expected = as_graph([("a", "b"), ("b", "c")], directed=True).fingerprint()
        assert result.stdout.decode().split()[0] == expected


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_compressed_files_may_have_several_streams(write, suffix):
    path = write(f"graph.txt.{suffix}", COMPRESSORS[suffix](b"a b\n") + COMPRESSORS[suffix](b"b c\n"))
    assert read_graph(path).fingerprint() == as_graph([("a", "b"), ("b", "c")]).fingerprint()


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_compression_is_recognized_without_the_suffix(write, suffix):
    assert read_graph(write("graph.txt", COMPRESSORS[suffix](b"a b\n"))).n_edges == 1


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("form", ["graphml", "gml"])
def test_graphml_and_gml_say_whether_they_are_directed(tmp_path, directed, form):
    graph = nx.gnp_random_graph(6, 0.5, seed=2, directed=directed)
    getattr(nx, f"write_{form}")(graph, tmp_path / f"graph.{form}")
    assert read_graph(tmp_path / f"graph.{form}").fingerprint() == as_graph(graph).fingerprint()


def test_pajek_arcs_are_directed_and_unit_weights_are_dropped(write):
    graph = read_graph(write("graph.net", '*Vertices 3\n1 "a b"\n2 "c"\n3 "d"\n*Arcs\n1 2\n'))
    assert graph.directed
    assert not graph.is_weighted
    assert graph.names.tolist() == ["a b", "c", "d"]


def test_pajek_vertices_with_the_same_label_are_an_error(write):
    with pytest.raises(GraphError, match=r"graph\.net: a Pajek network names each vertex once"):
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
    assert not read_graph(path, weighted=False).is_weighted


def test_the_matrix_of_a_mat_file_is_chosen_automatically_or_by_key(write):
    square, other, labels = sparse(NUMBERED), 2 * sparse(NUMBERED).toarray(), np.ones((4, 2))
    path = write(
        "graph.mat", buffer(lambda s: scipy.io.savemat(s, {"network": square, "group": labels, "other": other}))
    )
    assert read_graph(path).fingerprint() == as_graph(square).fingerprint()
    assert read_graph(path, key="other").fingerprint() == as_graph(other).fingerprint()
    with pytest.raises(GraphError, match=r"graph.mat: no matrix 'nets'; there are: network, group, other"):
        read_graph(path, key="nets")
    path = write("two.mat", buffer(lambda s: scipy.io.savemat(s, {"a": other, "b": other})))
    with pytest.raises(
        GraphError, match=r"two.mat: choose one square matrix by its name, as key='network'; there are: a, b"
    ):
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
def test_the_networks_of_the_paper_have_the_published_counts(networks, name, nodes, edges, components):
    graph = read_graph(networks / name / "edges.tsv", nodes=networks / name / "nodes.txt")
    assert (graph.n_nodes, graph.n_edges, graph.n_components) == (nodes, edges, components)
    loops = {"citeseer": 124, "astroph": 59, "hepth": 21, "grqc": 6}
    assert graph.n_self_loops == loops.get(name, 0)
    assert efge.as_graph(graph, drop_self_loops=True).n_edges == edges - graph.n_self_loops
