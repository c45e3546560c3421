"""Loading of data sets: from a folder, the cache or the publisher; wrong data never enters the cache."""

import os
import re
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pooch
import pytest

import efge
from efge.datasets import DATASETS, DatasetError, load_dataset, publishers
from efge.datasets.structure import structure_fingerprint
from published_files import (
    OTHER_NETWORKS,
    PAPER_NETWORKS,
    SMALL_NETWORKS,
    Publisher,
    cora_file,
    list_files,
    load_error,
    make_zip,
    newman_file,
    node2vec_file,
    read_integers,
)


@pytest.mark.parametrize("name", PAPER_NETWORKS)
def test_the_papers_networks_are_read_from_the_folder_that_efge_data_names(networks, cache, monkeypatch, name):
    monkeypatch.setenv("EFGE_DATA", str(networks))
    dataset, info = load_dataset(name), DATASETS[name]
    graph = dataset.graph
    assert graph.fingerprint() == info.fingerprint
    assert (graph.n_nodes, graph.n_edges, graph.n_self_loops) == (info.nodes, info.edges, info.self_loops)
    assert len(set((dataset.labels or {}).values())) == info.classes
    assert dataset.citation == info.citation
    assert not cache.exists()


def test_nodes_and_classes_have_their_names(networks, cache, monkeypatch):
    monkeypatch.setenv("EFGE_DATA", str(networks))
    assert load_dataset("cora").labels[35] == "Genetic_Algorithms"
    assert load_dataset("dblp").labels[2] == "ML"
    assert load_dataset("citeseer").labels[1] == 3
    dolphins = load_dataset("dolphins")
    assert dolphins.graph.names.tolist()[:2] == ["Beak", "Beescratch"]
    assert set(dolphins.labels) == set(dolphins.graph)
    assert load_dataset("grqc").labels is None


def test_the_publishers_file_is_read_from_a_folder(networks, cache, monkeypatch, tmp_path):
    (tmp_path / "cora").mkdir()
    (tmp_path / "cora" / "cora.tgz").write_bytes(cora_file(networks / "cora"))
    monkeypatch.setenv("EFGE_DATA", str(tmp_path))
    assert load_dataset("cora").graph.fingerprint() == DATASETS["cora"].fingerprint
    assert not cache.exists()


def test_a_folder_without_the_data_set_is_skipped(networks, publish, monkeypatch, tmp_path):
    publish("dolphins", newman_file(networks / "dolphins"))
    monkeypatch.setenv("EFGE_DATA", str(tmp_path))
    assert load_dataset("dolphins").graph.n_nodes == 62


def test_the_next_address_is_tried(networks, publish, publisher):
    address = publish("dolphins", newman_file(networks / "dolphins"))
    publisher.answers["/parked"] = b"<html>This domain is for sale</html>"
    elsewhere = tuple(f"{publisher.address}/{path}" for path in ("gone/dolphins.zip", "parked"))
    publish("dolphins", newman_file(networks / "dolphins"), addresses=(*elsewhere, address))
    assert load_dataset("dolphins").graph.n_nodes == 62
    assert publisher.requests == ["/gone/dolphins.zip", "/parked", "/dolphins.zip"]


def test_loading_prints_nothing(networks, publish, capfd, caplog):
    publish("dolphins", newman_file(networks / "dolphins"))
    load_dataset("dolphins")
    assert capfd.readouterr() == ("", "")
    assert not [record for record in caplog.records if record.name == "pooch"]


def test_progress_is_shown_on_a_terminal_only(networks, publish, monkeypatch):
    shown = []
    downloader = pooch.HTTPDownloader
    monkeypatch.setattr(
        pooch, "HTTPDownloader", lambda progressbar, **options: shown.append(progressbar) or downloader(**options)
    )
    monkeypatch.setattr("efge.datasets.loading.find_spec", lambda _: True)
    for terminal in (False, True):
        monkeypatch.setattr(sys.stderr, "isatty", lambda terminal=terminal: terminal, raising=False)
        publish("dolphins", b"nothing")
        load_error("dolphins")
    assert shown == [False, True]


def test_an_unknown_name_lists_the_known_ones():
    assert load_error("karate") == f"no data set 'karate'; known: {', '.join(PAPER_NETWORKS + OTHER_NETWORKS)}"
    assert issubclass(DatasetError, ValueError)


def move_one_edge(folder):
    """Move one edge of the dolphins; all counts stay right."""
    edges = read_integers(folder / "edges.tsv")
    assert [0, 1] not in edges.tolist()
    edges[np.flatnonzero(edges[:, 1] == 10)[0]] = [0, 1]
    return newman_file(folder, edges)


def truncated_answer(content):
    return lambda request: Publisher.send(request, content[: len(content) // 2], len(content))


def interrupting_answer(content):
    def answer(request):
        Publisher.send(request, content[:100], len(content))
        request.connection.settimeout(10)
        # Python ignores an interrupt that comes within a finalizer; then another one follows.
        for _ in range(3):
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            try:
                # The end of the connection, which is closed once the interrupt has been noticed.
                request.connection.recv(1)
            except TimeoutError:
                continue
            except ConnectionResetError:
                pass
            return

    return answer


FAULTS = {
    "altered": (move_one_edge, "the counts match, but names or edges differ"),
    "an edge less": (
        lambda folder: newman_file(folder, read_integers(folder / "edges.tsv")[1:]),
        "159 edges expected, 158 found",
    ),
    "cut short": (lambda folder: truncated_answer(newman_file(folder)), "dolphins.zip: the download failed"),
    "cut short, unnoticed": (lambda folder: newman_file(folder)[:-900], "cannot read this dolphins.zip"),
    "a page": (lambda folder: b"<html>moved</html>", "cannot read this dolphins.zip"),
    "empty": (lambda folder: b"", "cannot read this dolphins.zip"),
    "without the file": (lambda folder: make_zip({"whales.gml": ""}), "the archive must contain a file dolphins.gml"),
    "error 500": (lambda folder: lambda request: request.send_error(500), "the server answers 500"),
    "error 404": (lambda folder: lambda request: request.send_error(404), "the server answers 404"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failed_download_leaves_nothing_in_the_cache(networks, publish, cache, fault):
    publish("ppi", node2vec_file(), **SMALL_NETWORKS["ppi"][1])
    load_dataset("ppi")
    before = list_files(cache)
    answer, reason = FAULTS[fault]
    address = publish("dolphins", answer(networks / "dolphins"))
    message = load_error("dolphins")
    assert f"{address}: " in message
    assert reason in message
    assert list_files(cache) == before
    publish("dolphins", newman_file(networks / "dolphins"))
    assert load_dataset("dolphins").graph.n_edges == 159


def test_without_a_connection_the_message_says_which_file_to_put_where(publish, publisher, cache):
    publisher.server.server_close()
    address = publish("cora", b"")
    assert load_error("cora") == (
        f"cannot download cora ({address}: no connection); put cora.tgz into the folder {cache / 'cora'}, "
        "or into cora in the folder that EFGE_DATA names"
    )
    assert list_files(cache) == []


def test_an_interrupted_download_leaves_nothing_in_the_cache(networks, publish, cache):
    publish("dolphins", interrupting_answer(newman_file(networks / "dolphins")))
    with pytest.raises((KeyboardInterrupt, DatasetError)) as caught:
        load_dataset("dolphins")
    assert caught.type is KeyboardInterrupt
    assert list_files(cache) == []


def test_an_interruption_while_writing_leaves_nothing_in_the_cache(networks, publish, cache, monkeypatch):
    publish("dolphins", newman_file(networks / "dolphins"))

    def interrupted(folder):
        raise KeyboardInterrupt

    monkeypatch.setattr("efge.datasets.loading.sync_folder", interrupted)
    with pytest.raises(KeyboardInterrupt):
        load_dataset("dolphins")
    assert list_files(cache) == []


def test_a_failed_download_keeps_the_copy_of_another_process(networks, publish, cache):
    def answer(request):
        (cache / "dolphins").mkdir()
        for path in (networks / "dolphins").iterdir():
            (cache / "dolphins" / path.name).write_bytes(path.read_bytes())
        request.send_error(500)

    publish("dolphins", answer)
    load_error("dolphins")
    assert load_dataset("dolphins").labels is not None


LOAD = """
import sys, pathlib, pooch
from dataclasses import replace
from efge.datasets import DATASETS, load_dataset
address, cache = sys.argv[1:]
pooch.os_cache = lambda _: cache
DATASETS["dolphins"] = replace(DATASETS["dolphins"], addresses=(address,))
sys.stdout.write(load_dataset("dolphins").graph.fingerprint())
"""


def test_two_processes_can_download_at_once(networks, publish, publisher, cache):
    content, both = newman_file(networks / "dolphins"), threading.Barrier(2)

    def answer(request):
        both.wait()
        Publisher.send(request, content)

    address = publish("dolphins", answer)
    environment = {key: value for key, value in os.environ.items() if key != "EFGE_DATA"}
    command = [sys.executable, "-c", LOAD, address, str(cache)]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
    assert [run.communicate()[0] for run in runs] == [DATASETS["dolphins"].fingerprint] * 2
    assert len(publisher.requests) == 2
    assert [path.name for path in cache.iterdir()] == ["dolphins"]
    assert load_dataset("dolphins").graph.fingerprint() == DATASETS["dolphins"].fingerprint


def test_an_unwritable_cache_is_one_message(networks, publish, cache):
    publish("dolphins", newman_file(networks / "dolphins"))
    cache.write_text("in the way")
    assert load_error("dolphins") == f"{cache}: cannot write to the cache: File exists"


def test_wrong_counts_are_reported_with_the_expected_ones(networks, user_folder):
    folder = user_folder(networks / "cora")
    edges = (folder / "edges.tsv").read_text().splitlines()
    (folder / "edges.tsv").write_text("\n".join([*edges[2:], "35\t35"]) + "\n")
    (folder / "label_names.tsv").write_text("0\tCase_Based\n")
    assert load_error("cora") == (
        f"{folder} (repair or delete it): this is not cora as published: 5,278 edges expected, 5,277 found; "
        "0 self loops expected, 1 found; 7 classes expected, 1 found"
    )


def test_a_missing_or_repeated_node_is_refused(networks, user_folder):
    folder = user_folder(networks / "dblp")
    nodes = (folder / "nodes.txt").read_text().splitlines()
    (folder / "nodes.txt").write_text("\n".join(nodes[:-1]) + "\n")
    assert "both nodes of an edge must be listed; node 27198 is not" in load_error("dblp")
    (folder / "nodes.txt").write_text("\n".join([*nodes, nodes[0]]) + "\n")
    assert "each node must be listed once; 27,200 lines list 27,199 nodes" in load_error("dblp")


def test_a_wrong_class_is_refused(networks, user_folder):
    folder = user_folder(networks / "citeseer")
    labels = (folder / "labels.tsv").read_text()
    (folder / "labels.tsv").write_text(labels.replace("0\t0\n", "0\t1\n", 1))
    assert load_error("citeseer").endswith("the graph matches, but classes differ")
    (folder / "labels.tsv").write_text(labels + "0\t1\n")
    assert load_error("citeseer").endswith("3,312 nodes with one class expected, 3,311 found")


def test_only_the_dolphins_may_lack_classes(networks, user_folder, monkeypatch, tmp_path):
    user_folder(networks / "dolphins", without=["labels.tsv"])
    assert load_dataset("dolphins").labels is None
    user_folder(networks / "cora", without=["labels.tsv", "label_names.tsv"])
    assert load_error("cora").endswith("7 classes expected, 0 found")


def test_wrong_names_are_refused(networks, user_folder):
    user_folder(networks / "dolphins", without=["names.tsv"])
    assert load_error("dolphins").endswith("the counts match, but names or edges differ")


def test_weights_are_refused_in_an_unweighted_network(networks, user_folder):
    folder = user_folder(networks / "grqc")
    edges = (folder / "edges.tsv").read_text()
    (folder / "edges.tsv").write_text(edges.replace("\n", "\t2\n"))
    assert load_error("grqc").endswith("0 weights expected, 13,428 found")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("edges.tsv", "1\tx\n", "cannot read this data set; repair or delete the folder: could not convert string 'x'"),
        ("edges.tsv", "", "a file needs at least one line; this one is empty"),
        ("labels.tsv", "0\t0\t0\n", "cannot read this data set; repair or delete the folder: "),
        ("names.tsv", "zero\tBeak\n", "cannot read this data set; repair or delete the folder: "),
        ("nodes.txt", b"\xff\xfe", "cannot read this data set; repair or delete the folder: "),
    ],
)
def test_a_damaged_folder_is_named(networks, user_folder, name, content, message):
    folder = user_folder(networks / "dolphins")
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    error = load_error("dolphins")
    assert error.startswith(f"{folder}: ")
    assert message in error


def test_a_folder_with_other_files_is_named(networks, user_folder):
    folder = user_folder(networks / "cora", without=["edges.tsv"])
    rule = "the folder of a data set has edges.tsv and its other files, or cora.tgz; this one has neither"
    assert load_error("cora") == f"{folder}: {rule}"


def test_a_missing_folder_is_named(cache, monkeypatch, tmp_path):
    monkeypatch.setenv("EFGE_DATA", str(tmp_path / "nowhere"))
    assert load_error("cora").endswith(f"there is no folder {tmp_path / 'nowhere'}")


def test_a_damaged_copy_in_the_cache_is_named_and_not_replaced(networks, publish, publisher, cache):
    publish("dolphins", newman_file(networks / "dolphins"))
    load_dataset("dolphins")
    (cache / "dolphins" / "edges.tsv").write_text("0\t1\n")
    assert "159 edges expected, 1 found" in load_error("dolphins")
    assert len(publisher.requests) == 1
    assert "edges.tsv" in {path.name for path in (cache / "dolphins").iterdir()}


def test_the_catalogue_is_consistent():
    assert list(DATASETS) == PAPER_NETWORKS + OTHER_NETWORKS
    for name, info in DATASETS.items():
        assert info.reader in publishers._READERS
        assert all(address.startswith("http") and address.endswith(info.file_name) for address in info.addresses)
        assert (info.fingerprint is not None) == (name in PAPER_NETWORKS)
        assert (info.label_fingerprint is not None) == (name in PAPER_NETWORKS and info.classes > 0)
        assert info.about
        assert info.citation


def test_importing_datasets_loads_no_heavy_library():
    code = "import efge.datasets, sys; sys.exit(bool({'pooch', 'requests', 'pandas'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_data_set_is_ready_for_an_estimator(networks, cache, monkeypatch):
    monkeypatch.setenv("EFGE_DATA", str(networks))
    dolphins = load_dataset("dolphins")
    vectors = efge.EFGE(dim=8, seed=0).fit(dolphins.graph).embedding_
    assert all(vectors[name].shape == (8,) for name in dolphins.labels)


def test_an_address_without_encryption_is_refused(monkeypatch, cache):
    assert all(address.startswith("https://") for info in DATASETS.values() for address in info.addresses)
    address = "http://example.com/dolphins.zip"
    monkeypatch.setitem(DATASETS, "dolphins", replace(DATASETS["dolphins"], addresses=(address,)))
    with pytest.raises(DatasetError, match=re.escape(f"{address}: an address must begin with https://")):
        load_dataset("dolphins")


def test_a_redirection_to_an_address_without_encryption_is_refused(publish, publisher):
    def redirect(request):
        request.send_response(302)
        request.send_header("Location", "http://example.com/dolphins.zip")
        request.end_headers()

    publish("dolphins", redirect)
    with pytest.raises(DatasetError, match=r"example\.com/dolphins\.zip: an address must begin with https"):
        load_dataset("dolphins")


def test_a_file_of_any_size_does_not_fill_the_disk(publish, monkeypatch):
    monkeypatch.setattr("efge.datasets.loading._MAX_DOWNLOAD_SIZE", 1000)
    publish("dolphins", bytes(1001))
    with pytest.raises(DatasetError, match="a file has at most 1,000 bytes; this one has more"):
        load_dataset("dolphins")


def test_a_network_of_another_structure_is_refused_however_it_is_numbered(publish):
    publish("ppi", node2vec_file(), **SMALL_NETWORKS["ppi"][1] | {"structure": DATASETS["ppi"].structure})
    with pytest.raises(DatasetError, match="the counts match, but edges or classes differ"):
        load_dataset("ppi")


def test_the_structure_of_a_network_does_not_depend_on_numbers_but_on_every_edge_and_class():
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (4, 4)]
    labels = {0: "a", 1: "a", 2: ("a", "b"), 3: "c"}
    renumbered = [(9 - a, 9 - b) for a, b in reversed(edges)]
    swapped = {9 - node: value for node, value in labels.items()}
    expected = structure_fingerprint(efge.as_graph(edges), labels)
    assert structure_fingerprint(efge.as_graph(renumbered), swapped) == expected
    others = [[*edges[:4], (2, 4), (4, 4)], [*edges[:4], (3, 4), (3, 3)], [*edges[:3], (3, 1), *edges[4:]]]
    found = {structure_fingerprint(efge.as_graph(other), labels) for other in others[1:]}
    assert expected not in found
    assert structure_fingerprint(efge.as_graph(edges), labels | {3: "b"}) != expected
