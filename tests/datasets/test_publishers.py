"""Publishers' files: each format gives exactly the graph of the plain files, and damaged files are refused."""

import gzip
import io
import zipfile

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csr_array

from efge.datasets import DATASETS, load_dataset, publishers
from published_files import (
    FILE_MAKERS,
    OTHER_NETWORKS,
    PAPER_NETWORKS,
    SMALL_NETWORKS,
    blogcatalog_file,
    list_files,
    load_error,
    make_zip,
    newman_file,
    node2vec_file,
    pubmed_file,
    snap_file,
)


@pytest.mark.parametrize("name", PAPER_NETWORKS)
def test_the_publishers_file_gives_exactly_the_graph_of_the_plain_files(
    networks, cache, publish, publisher, monkeypatch, name
):
    publish(name, FILE_MAKERS.get(name, snap_file)(networks / name))
    first, again = load_dataset(name), load_dataset(name)
    assert len(publisher.requests) == 1
    monkeypatch.setenv("EFGE_DATA", str(networks))
    expected = load_dataset(name)
    assert first.graph.fingerprint() == again.graph.fingerprint() == expected.graph.fingerprint()
    assert first.labels == again.labels == (None if name == "dolphins" else expected.labels)
    assert [path.name for path in cache.iterdir()] == [name]


@pytest.mark.parametrize("name", OTHER_NETWORKS)
def test_the_other_publishers_files_are_read_and_cached(publish, publisher, name):
    make_file, counts = SMALL_NETWORKS[name]
    publish(name, make_file(), **counts)
    first, again = load_dataset(name), load_dataset(name)
    assert len(publisher.requests) == 1
    assert first.graph.fingerprint() == again.graph.fingerprint()
    assert first.labels == again.labels
    assert (first.graph.n_edges, first.graph.n_self_loops) == (counts["edges"], counts.get("self_loops", 0))


def test_bloggers_have_several_classes_and_are_numbered_from_1(publish):
    publish("blogcatalog", blogcatalog_file(), **SMALL_NETWORKS["blogcatalog"][1])
    assert load_dataset("blogcatalog").labels == {1: (2,), 2: (1, 2), 3: (1,), 4: (3,)}


def test_proteins_without_a_class_have_no_label_and_empty_classes_count(publish):
    publish("ppi", node2vec_file(), **SMALL_NETWORKS["ppi"][1])
    for _ in range(2):
        dataset = load_dataset("ppi")
        assert dataset.labels == {0: (1,), 1: (0, 1), 3: (0,)}
        assert not dataset.graph.is_weighted


def test_word_pairs_keep_their_weights(publish):
    publish("wikipedia", SMALL_NETWORKS["wikipedia"][0](), **SMALL_NETWORKS["wikipedia"][1])
    for _ in range(2):
        matrix = load_dataset("wikipedia").graph.to_scipy().toarray()
        assert matrix.tolist() == [[0, 2, 0, 0], [2, 0, 0.5, 0], [0, 0.5, 7, 3], [0, 0, 3, 0]]


def test_papers_are_named_by_number_and_their_classes_by_type(publish):
    publish("pubmed", pubmed_file(), **SMALL_NETWORKS["pubmed"][1])
    dataset = load_dataset("pubmed")
    assert dataset.graph.names.tolist() == [7, 12, 30]
    assert dataset.graph.neighbors(12) == [7, 12]
    assert dataset.labels[30] == "Diabetes Mellitus, Experimental"


def test_a_list_that_the_server_decompressed_is_read(networks, publish):
    publish("facebook", gzip.decompress(snap_file(networks / "facebook")))
    assert load_dataset("facebook").graph.n_edges == 88234


@pytest.mark.parametrize("name", ["cora", "grqc", "citeseer"])
def test_half_a_file_is_refused_in_every_format(networks, publish, cache, name):
    content = FILE_MAKERS.get(name, snap_file)(networks / name)
    publish(name, content[: len(content) // 2])
    assert f"cannot read this {DATASETS[name].file_name}" in load_error(name)
    assert list_files(cache) == []


@pytest.mark.parametrize("name", ["dolphins", "cora", "grqc"])
def test_a_file_that_decompresses_to_too_much_is_refused(networks, publish, cache, monkeypatch, name):
    monkeypatch.setattr(publishers, "_MAX_FILE_BYTES", 1000)
    publish(name, FILE_MAKERS.get(name, snap_file)(networks / name))
    assert "may have at most 1,000 bytes when decompressed; this one has more" in load_error(name)
    assert list_files(cache) == []


def test_an_archive_cannot_choose_where_files_are_written(networks, publish, cache, tmp_path):
    content = zipfile.ZipFile(io.BytesIO(newman_file(networks / "dolphins"))).read("dolphins.gml")
    publish("dolphins", make_zip({f"../{tmp_path.name}/dolphins.gml": content}))
    load_dataset("dolphins")
    assert not list(tmp_path.parent.rglob("dolphins.gml"))


def test_a_matrix_of_wrong_shape_or_without_symmetry_is_refused(publish):
    counts = SMALL_NETWORKS["wikipedia"][1]
    publish("wikipedia", node2vec_file(), **{**counts, "nodes": 5})
    assert "network and group must have shapes (5, 5) and (5, 3); got (4, 4) and (4, 3)" in load_error("wikipedia")
    file = io.BytesIO()
    savemat(file, {"network": csr_array(np.triu(np.ones((4, 4)))), "group": np.ones((4, 3))})
    publish("wikipedia", file.getvalue(), **counts)
    assert "the matrix of an undirected network is symmetric; this one is not" in load_error("wikipedia")
    publish("ppi", b"MATLAB" + bytes(200), **SMALL_NETWORKS["ppi"][1])
    assert "cannot read this Homo_sapiens.mat" in load_error("ppi")


def test_classes_of_unlisted_nodes_are_refused(publish):
    files = {"edges.csv": "1,2\n2,3\n3,4\n", "group-edges.csv": "1,1\n2,2\n5,3\n"}
    publish("blogcatalog", make_zip(files), **SMALL_NETWORKS["blogcatalog"][1])
    assert "0 nodes with a class but not listed expected, 1 found" in load_error("blogcatalog")
