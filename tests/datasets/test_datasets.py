"""Data sets: the same graph to the bit from a folder or from a publisher's file; and nothing kept of what is wrong."""

import gzip
import io
import os
import signal
import subprocess
import sys
import tarfile
import threading
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pooch
import pytest
from scipy.io import savemat
from scipy.sparse import coo_array, csr_array

import efge
from efge.datasets import DATASETS, DatasetError, load_dataset, publishers

EIGHT = ["citeseer", "cora", "dblp", "astroph", "hepth", "facebook", "grqc", "dolphins"]
OTHERS = ["blogcatalog", "ppi", "wikipedia", "pubmed"]


# The publishers' files, written as they are on the basis of plain ones.


def zipped(files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def tarred(files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content.encode())
            archive.addfile(entry, io.BytesIO(content.encode()))
    return packed.getvalue()


def lines(rows, gap="\t"):
    return "".join(gap.join(map(str, row)) + "\n" for row in rows)


def shuffled(rows):
    return np.random.default_rng(0).permutation(rows).tolist()


def integers(path):
    return np.loadtxt(path, np.int64, ndmin=2)


def named(path):
    return dict(line.split("\t") for line in path.read_text().splitlines())


def snap(folder):
    edges = integers(folder / "edges.tsv")
    if folder.name == "facebook":
        return gzip.compress(lines(shuffled(edges), " ").encode())
    # Smaller components, which are no part of the data set, and every edge in both directions.
    beside = edges.max() + np.array([[1, 2], [2, 3], [4, 4], [5, 6]])
    both = np.concatenate([edges, edges[:, ::-1], beside, beside[:, ::-1]])
    heading = "# Directed graph (each unordered pair of nodes is saved once)\r\n# FromNodeId\tToNodeId\r\n"
    return gzip.compress((heading + lines(shuffled(both)).replace("\n", "\r\n")).encode(), 1)


def cora(folder):
    topics = named(folder / "label_names.tsv")
    papers = [[paper, 0, 1, 0, topics[str(topic)]] for paper, topic in shuffled(integers(folder / "labels.tsv"))]
    edges = integers(folder / "edges.tsv")
    cites = np.concatenate([edges[::2], edges[1::2, ::-1], edges[:150, ::-1]])
    files = {"cora/._cora.content": "no", "cora/cora.content": lines(papers), "cora/cora.cites": lines(shuffled(cites))}
    return tarred({"cora/README": "words", **files})


def matrix(edges, group, weights=None):
    edges, n = np.asarray(edges), group.shape[0]
    values = np.ones(len(edges)) if weights is None else np.asarray(weights, float)
    once = coo_array((values, (edges[:, 0], edges[:, 1])), shape=(n, n)).tocsr()
    loops = csr_array((once.diagonal(), (range(n), range(n))), shape=(n, n))
    network = (once + once.T - loops).tocsc()
    file = io.BytesIO()
    savemat(file, {"network": network, "group": group}, do_compression=True)
    return file.getvalue()


def harp(folder):
    labels = integers(folder / "labels.tsv")
    chosen = np.zeros((len(labels), labels[:, 1].max() + 1))
    chosen[labels[:, 0], labels[:, 1]] = 1
    if folder.name == "citeseer":
        return matrix(integers(folder / "edges.tsv"), csr_array(chosen))
    shares = np.random.default_rng(0).uniform(0, 0.4, chosen.shape)
    return matrix(integers(folder / "edges.tsv"), shares + 0.4 * chosen)


def newman(folder, edges=None):
    names = named(folder / "names.tsv")
    edges = integers(folder / "edges.tsv") if edges is None else edges
    nodes = "".join(f'  node\n  [\n    id {node}\n    label "{name}"\n  ]\n' for node, name in names.items())
    links = "".join(f"  edge\n  [\n    source {b}\n    target {a}\n  ]\n" for a, b in edges)
    text = f'Creator "Mark Newman on Wed Jul 26 15:04:20 2006"\ngraph\n[\n  directed 0\n{nodes}{links}]\n'
    return zipped({"dolphins.txt": "words", "dolphins.gml": text})


PUBLISHED = {"cora": cora, "citeseer": harp, "dblp": harp, "dolphins": newman}


# Small networks in the form of the others: a path of four nodes and a loop.


def blogcatalog():
    groups = [[1, 2], [2, 1], [2, 2], [3, 1], [4, 3]]
    files = {"edges.csv": lines([[1, 2], [2, 3], [4, 3]], ","), "group-edges.csv": lines(groups, ",")}
    return zipped({f"BlogCatalog-dataset/data/{name}": content for name, content in files.items()})


def node2vec(weights=None):
    group = csr_array(np.array([[0, 1, 0], [1, 1, 0], [0, 0, 0], [1, 0, 0]], np.uint8))
    return matrix([[0, 1], [1, 2], [3, 2], [2, 2]], group, weights)


def pubmed():
    papers = ["NODE\tpaper", "cat=1,2,3:label\tnumeric:w-rat:0.0\tstring:summary"]
    papers += [f"{paper}\tlabel={label}\tw-rat=0.09\tsummary=w-rat" for paper, label in [(30, 1), (7, 2), (12, 3)]]
    ends = [(30, 7), (7, 30), (12, 7), (12, 12)]
    cites = ["DIRECTED\tcites", "NO_FEATURES", *(f"{i}\tpaper:{a}\t|\tpaper:{b}" for i, (a, b) in enumerate(ends))]
    inner = {"NODE.paper": papers, "DIRECTED.cites": cites}
    return tarred({f"Pubmed-Diabetes/data/Pubmed-Diabetes.{name}.tab": "\n".join(inner[name]) + "\n" for name in inner})


SMALL = {
    "blogcatalog": (blogcatalog, {"nodes": 4, "edges": 3, "classes": 3}),
    "ppi": (node2vec, {"nodes": 4, "edges": 4, "self_loops": 1, "classes": 3, "components": 1}),
    "wikipedia": (lambda: node2vec([2, 0.5, 3, 7]), {"nodes": 4, "edges": 4, "self_loops": 1, "classes": 3}),
    "pubmed": (pubmed, {"nodes": 3, "edges": 3, "self_loops": 1}),
}


# A publisher of our own.


class Publisher:
    """A server on this machine, and what it answers to each path: bytes, or a function of the request."""

    def __init__(self):
        self.answers, self.asked = {}, []
        publisher = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                publisher.asked.append(self.path)
                answer = publisher.answers.get(self.path, lambda request: request.send_error(404))
                answer(self) if callable(answer) else publisher.send(self, answer)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @staticmethod
    def send(request, content, length=None):
        request.send_response(200)
        request.send_header("Content-Length", str(len(content) if length is None else length))
        request.end_headers()
        request.wfile.write(content)


@pytest.fixture
def publisher(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    publisher = Publisher()
    yield publisher
    publisher.server.shutdown()
    publisher.server.server_close()


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """An empty cache, and no other folder to look in."""
    monkeypatch.delenv("EFGE_DATA", raising=False)
    folder = tmp_path / "cache"
    monkeypatch.setattr(pooch, "os_cache", lambda _: folder)
    return folder


@pytest.fixture
def publish(monkeypatch, publisher, cache):
    """Have a data set published here, with other knowledge of it if need be; its address."""

    def published(name, content, **known):
        path = f"/{DATASETS[name].file_name}"
        publisher.answers[path] = content
        address = publisher.address + path
        monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], **{"addresses": (address,), **known}))
        return address

    return published


@pytest.fixture
def given(monkeypatch, tmp_path, cache):
    """A folder of the user's with a copy of a data set's plain files."""

    def copied(source, without=()):
        folder = tmp_path / "given" / source.name
        folder.mkdir(parents=True)
        for path in source.iterdir():
            if path.name not in without:
                (folder / path.name).write_bytes(path.read_bytes())
        monkeypatch.setenv("EFGE_DATA", str(folder.parent))
        return folder

    return copied


def held(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) if folder.exists() else []


def refusal(name):
    with pytest.raises(DatasetError) as caught:
        load_dataset(name)
    message = str(caught.value)
    assert "\n" not in message
    return message


# What is found.


@pytest.mark.parametrize("name", EIGHT)
def test_the_papers_networks_are_read_from_the_folder_that_efge_data_names(networks, cache, monkeypatch, name):
    monkeypatch.setenv("EFGE_DATA", str(networks))
    found, known = load_dataset(name), DATASETS[name]
    assert found.graph.fingerprint() == known.fingerprint
    assert (found.graph.n_nodes, found.graph.n_edges, found.graph.n_self_loops) == (
        known.nodes,
        known.edges,
        known.self_loops,
    )
    assert len(set((found.labels or {}).values())) == known.classes
    assert found.citation == known.citation
    assert not cache.exists()


def test_nodes_and_classes_go_by_their_names(networks, cache, monkeypatch):
    monkeypatch.setenv("EFGE_DATA", str(networks))
    assert load_dataset("cora").labels[35] == "Genetic_Algorithms"
    assert load_dataset("dblp").labels[2] == "ML"
    assert load_dataset("citeseer").labels[1] == 3
    dolphins = load_dataset("dolphins")
    assert dolphins.graph.names.tolist()[:2] == ["Beak", "Beescratch"]
    assert set(dolphins.labels) == set(dolphins.graph)
    assert load_dataset("grqc").labels is None


@pytest.mark.parametrize("name", EIGHT)
def test_the_publishers_file_gives_the_same_graph_to_the_bit(networks, cache, publish, publisher, monkeypatch, name):
    publish(name, PUBLISHED.get(name, snap)(networks / name))
    first, again = load_dataset(name), load_dataset(name)
    assert len(publisher.asked) == 1
    monkeypatch.setenv("EFGE_DATA", str(networks))
    expected = load_dataset(name)
    assert first.graph.fingerprint() == again.graph.fingerprint() == expected.graph.fingerprint()
    assert first.labels == again.labels == (None if name == "dolphins" else expected.labels)
    assert [path.name for path in cache.iterdir()] == [name]


def test_the_publishers_file_may_lie_in_a_folder(networks, cache, monkeypatch, tmp_path):
    (tmp_path / "cora").mkdir()
    (tmp_path / "cora" / "cora.tgz").write_bytes(cora(networks / "cora"))
    monkeypatch.setenv("EFGE_DATA", str(tmp_path))
    assert load_dataset("cora").graph.fingerprint() == DATASETS["cora"].fingerprint
    assert not cache.exists()


def test_a_folder_without_the_data_set_is_passed_over(networks, publish, monkeypatch, tmp_path):
    publish("dolphins", newman(networks / "dolphins"))
    monkeypatch.setenv("EFGE_DATA", str(tmp_path))
    assert load_dataset("dolphins").graph.n_nodes == 62


@pytest.mark.parametrize("name", OTHERS)
def test_the_other_publishers_files_are_read_and_kept(publish, publisher, name):
    written, known = SMALL[name]
    publish(name, written(), **known)
    first, again = load_dataset(name), load_dataset(name)
    assert len(publisher.asked) == 1
    assert first.graph.fingerprint() == again.graph.fingerprint()
    assert first.labels == again.labels
    assert (first.graph.n_edges, first.graph.n_self_loops) == (known["edges"], known.get("self_loops", 0))


def test_bloggers_have_several_classes_and_count_from_1(publish):
    publish("blogcatalog", blogcatalog(), **SMALL["blogcatalog"][1])
    assert load_dataset("blogcatalog").labels == {1: (2,), 2: (1, 2), 3: (1,), 4: (3,)}


def test_proteins_without_a_class_are_left_out_and_a_class_without_proteins_is_kept(publish):
    publish("ppi", node2vec(), **SMALL["ppi"][1])
    for _ in range(2):
        found = load_dataset("ppi")
        assert found.labels == {0: (1,), 1: (0, 1), 3: (0,)}
        assert not found.graph.is_weighted


def test_words_keep_their_weights(publish):
    publish("wikipedia", SMALL["wikipedia"][0](), **SMALL["wikipedia"][1])
    for _ in range(2):
        matrix = load_dataset("wikipedia").graph.to_scipy().toarray()
        assert matrix.tolist() == [[0, 2, 0, 0], [2, 0, 0.5, 0], [0, 0.5, 7, 3], [0, 0, 3, 0]]


def test_papers_on_diabetes_are_named_by_their_numbers_and_types(publish):
    publish("pubmed", pubmed(), **SMALL["pubmed"][1])
    found = load_dataset("pubmed")
    assert found.graph.names.tolist() == [7, 12, 30]
    assert found.graph.neighbors(12) == [7, 12]
    assert found.labels[30] == "Diabetes Mellitus, Experimental"


def test_a_list_that_a_server_unpacked_on_the_way_is_read_as_well(networks, publish):
    publish("facebook", gzip.decompress(snap(networks / "facebook")))
    assert load_dataset("facebook").graph.n_edges == 88234


def test_the_next_address_is_tried(networks, publish, publisher):
    address = publish("dolphins", newman(networks / "dolphins"))
    publisher.answers["/parked"] = b"<html>This domain is for sale</html>"
    elsewhere = tuple(f"{publisher.address}/{path}" for path in ("gone/dolphins.zip", "parked"))
    publish("dolphins", newman(networks / "dolphins"), addresses=(*elsewhere, address))
    assert load_dataset("dolphins").graph.n_nodes == 62
    assert publisher.asked == ["/gone/dolphins.zip", "/parked", "/dolphins.zip"]


def test_loading_says_nothing(networks, publish, capfd, caplog):
    publish("dolphins", newman(networks / "dolphins"))
    load_dataset("dolphins")
    assert capfd.readouterr() == ("", "")
    assert not [record for record in caplog.records if record.name == "pooch"]


def test_progress_is_shown_on_a_terminal_only(networks, publish, monkeypatch):
    shown = []
    downloader = pooch.HTTPDownloader
    monkeypatch.setattr(pooch, "HTTPDownloader", lambda progressbar: shown.append(progressbar) or downloader())
    monkeypatch.setattr("efge.datasets.loading.find_spec", lambda _: True)
    for terminal in (False, True):
        monkeypatch.setattr(sys.stderr, "isatty", lambda terminal=terminal: terminal, raising=False)
        publish("dolphins", b"nothing")
        refusal("dolphins")
    assert shown == [False, True]


# What is refused.


def test_an_unknown_name_lists_the_known_ones():
    assert refusal("karate") == f"no data set 'karate'; known: {', '.join(EIGHT + OTHERS)}"
    assert issubclass(DatasetError, ValueError)


def moved(folder):
    """The dolphins with one edge elsewhere: all counts are right."""
    edges = integers(folder / "edges.tsv")
    assert [0, 1] not in edges.tolist()
    edges[np.flatnonzero(edges[:, 1] == 10)[0]] = [0, 1]
    return newman(folder, edges)


def broken_off(content):
    return lambda request: Publisher.send(request, content[: len(content) // 2], len(content))


def interrupting(content):
    def answer(request):
        Publisher.send(request, content[:100], len(content))
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    return answer


FAULTS = {
    "altered": (moved, "the counts are right, but names or edges are others"),
    "an edge less": (
        lambda folder: newman(folder, integers(folder / "edges.tsv")[1:]),
        "159 edges expected, 158 found",
    ),
    "cut short": (lambda folder: broken_off(newman(folder)), "dolphins.zip: the transfer broke off"),
    "cut short, unnoticed": (lambda folder: newman(folder)[:-900], "not a dolphins.zip that can be read"),
    "a page": (lambda folder: b"<html>moved</html>", "not a dolphins.zip that can be read"),
    "empty": (lambda folder: b"", "not a dolphins.zip that can be read"),
    "without the file": (lambda folder: zipped({"whales.gml": ""}), "the archive holds a file dolphins.gml"),
    "error 500": (lambda folder: lambda request: request.send_error(500), "the server answers 500"),
    "error 404": (lambda folder: lambda request: request.send_error(404), "the server answers 404"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_of_a_failed_download_nothing_is_kept(networks, publish, cache, fault):
    publish("ppi", node2vec(), **SMALL["ppi"][1])
    load_dataset("ppi")
    before = held(cache)
    answer, reason = FAULTS[fault]
    address = publish("dolphins", answer(networks / "dolphins"))
    message = refusal("dolphins")
    assert f"{address}: " in message
    assert reason in message
    assert held(cache) == before
    publish("dolphins", newman(networks / "dolphins"))
    assert load_dataset("dolphins").graph.n_edges == 159


@pytest.mark.parametrize("name", ["cora", "grqc", "citeseer"])
def test_half_a_file_is_refused_whatever_its_form(networks, publish, cache, name):
    content = PUBLISHED.get(name, snap)(networks / name)
    publish(name, content[: len(content) // 2])
    assert f"not a {DATASETS[name].file_name} that can be read" in refusal(name)
    assert held(cache) == []


def test_without_a_connection_the_message_says_what_to_put_where(publish, publisher, cache):
    publisher.server.server_close()
    address = publish("cora", b"")
    assert refusal("cora") == (
        f"cora cannot be downloaded ({address}: no connection); put cora.tgz into the folder {cache / 'cora'}, "
        "or into cora in the folder that EFGE_DATA names"
    )
    assert held(cache) == []


def test_an_interrupted_download_keeps_nothing(networks, publish, cache):
    publish("dolphins", interrupting(newman(networks / "dolphins")))
    with pytest.raises((KeyboardInterrupt, DatasetError)) as caught:
        load_dataset("dolphins")
    assert caught.type is KeyboardInterrupt
    assert held(cache) == []


def test_an_interruption_while_writing_keeps_nothing(networks, publish, cache, monkeypatch):
    publish("dolphins", newman(networks / "dolphins"))

    def interrupted(folder):
        raise KeyboardInterrupt

    monkeypatch.setattr("efge.datasets.loading.sync_folder", interrupted)
    with pytest.raises(KeyboardInterrupt):
        load_dataset("dolphins")
    assert held(cache) == []


def test_a_copy_that_came_meanwhile_outlives_our_failure(networks, publish, cache):
    def answer(request):
        (cache / "dolphins").mkdir()
        for path in (networks / "dolphins").iterdir():
            (cache / "dolphins" / path.name).write_bytes(path.read_bytes())
        request.send_error(500)

    publish("dolphins", answer)
    refusal("dolphins")
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


def test_two_processes_at_once_do_no_harm_to_each_other(networks, publish, publisher, cache):
    content, both = newman(networks / "dolphins"), threading.Barrier(2, timeout=30)

    def answer(request):
        both.wait()
        Publisher.send(request, content)

    address = publish("dolphins", answer)
    environment = {key: value for key, value in os.environ.items() if key != "EFGE_DATA"}
    command = [sys.executable, "-c", LOAD, address, str(cache)]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(2)]
    assert [run.communicate(timeout=60)[0] for run in runs] == [DATASETS["dolphins"].fingerprint] * 2
    assert len(publisher.asked) == 2
    assert [path.name for path in cache.iterdir()] == ["dolphins"]
    assert load_dataset("dolphins").graph.fingerprint() == DATASETS["dolphins"].fingerprint


def test_a_cache_that_cannot_be_written_is_one_message(networks, publish, cache):
    publish("dolphins", newman(networks / "dolphins"))
    cache.write_text("in the way")
    assert refusal("dolphins") == f"{cache}: the cache cannot be written: File exists"


@pytest.mark.parametrize("name", ["dolphins", "cora", "grqc"])
def test_what_unpacks_to_too_much_is_refused(networks, publish, cache, monkeypatch, name):
    monkeypatch.setattr(publishers, "_LARGEST", 1000)
    publish(name, PUBLISHED.get(name, snap)(networks / name))
    assert "has 1,000 bytes at most when unpacked; this one has more" in refusal(name)
    assert held(cache) == []


def test_a_member_of_an_archive_is_written_nowhere(networks, publish, cache, tmp_path):
    content = zipfile.ZipFile(io.BytesIO(newman(networks / "dolphins"))).read("dolphins.gml")
    publish("dolphins", zipped({f"../{tmp_path.name}/dolphins.gml": content}))
    load_dataset("dolphins")
    assert not list(tmp_path.parent.rglob("dolphins.gml"))


def test_a_matrix_of_another_size_or_with_two_weights_an_edge_is_refused(publish):
    known = SMALL["wikipedia"][1]
    publish("wikipedia", node2vec(), **{**known, "nodes": 5})
    assert "network and group are (5, 5) and (5, 3); got (4, 4) and (4, 3)" in refusal("wikipedia")
    file = io.BytesIO()
    savemat(file, {"network": csr_array(np.triu(np.ones((4, 4)))), "group": np.ones((4, 3))})
    publish("wikipedia", file.getvalue(), **known)
    assert "this matrix is not symmetric" in refusal("wikipedia")
    publish("ppi", b"MATLAB" + bytes(200), **SMALL["ppi"][1])
    assert "not a Homo_sapiens.mat that can be read" in refusal("ppi")


# Folders that are not what they say.


def test_wrong_counts_are_named_with_what_was_expected(networks, given):
    folder = given(networks / "cora")
    edges = (folder / "edges.tsv").read_text().splitlines()
    (folder / "edges.tsv").write_text("\n".join([*edges[2:], "35\t35"]) + "\n")
    (folder / "label_names.tsv").write_text("0\tCase_Based\n")
    assert refusal("cora") == (
        f"{folder}, which you may mend or delete: this is not cora as published: 5,278 edges expected, 5,277 found; "
        "0 self loops expected, 1 found; 7 classes expected, 1 found"
    )


def test_a_node_that_is_gone_is_noticed(networks, given):
    folder = given(networks / "dblp")
    nodes = (folder / "nodes.txt").read_text().splitlines()
    (folder / "nodes.txt").write_text("\n".join(nodes[:-1]) + "\n")
    assert "an edge joins nodes that are listed; node 27198 is not" in refusal("dblp")
    (folder / "nodes.txt").write_text("\n".join([*nodes, nodes[0]]) + "\n")
    assert "a node is listed once; 27,200 lines name 27,199 nodes" in refusal("dblp")


def test_a_class_that_is_another_is_noticed(networks, given):
    folder = given(networks / "citeseer")
    labels = (folder / "labels.tsv").read_text()
    (folder / "labels.tsv").write_text(labels.replace("0\t0\n", "0\t1\n", 1))
    assert refusal("citeseer").endswith("the graph is right, but classes are others")
    (folder / "labels.tsv").write_text(labels + "0\t1\n")
    assert refusal("citeseer").endswith("3,312 nodes with one class expected, 3,311 found")


def test_classes_of_nodes_that_are_not_there_are_noticed(publish):
    files = {"edges.csv": "1,2\n2,3\n3,4\n", "group-edges.csv": "1,1\n2,2\n5,3\n"}
    publish("blogcatalog", zipped(files), **SMALL["blogcatalog"][1])
    assert "0 nodes with a class but not listed expected, 1 found" in refusal("blogcatalog")


def test_only_the_dolphins_may_lack_their_classes(networks, given, monkeypatch, tmp_path):
    given(networks / "dolphins", without=["labels.tsv"])
    assert load_dataset("dolphins").labels is None
    given(networks / "cora", without=["labels.tsv", "label_names.tsv"])
    assert refusal("cora").endswith("7 classes expected, 0 found")


def test_other_names_are_noticed(networks, given):
    given(networks / "dolphins", without=["names.tsv"])
    assert refusal("dolphins").endswith("the counts are right, but names or edges are others")


def test_weights_belong_to_the_words_only(networks, given):
    folder = given(networks / "grqc")
    edges = (folder / "edges.tsv").read_text()
    (folder / "edges.tsv").write_text(edges.replace("\n", "\t2\n"))
    assert refusal("grqc").endswith("0 weights expected, 13,428 found")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("edges.tsv", "1\tx\n", "the data set cannot be read; mend or delete the folder: could not convert string 'x'"),
        ("edges.tsv", "", "there is at least one line; the file is empty"),
        ("labels.tsv", "0\t0\t0\n", "the data set cannot be read; mend or delete the folder: "),
        ("names.tsv", "zero\tBeak\n", "the data set cannot be read; mend or delete the folder: "),
        ("nodes.txt", b"\xff\xfe", "the data set cannot be read; mend or delete the folder: "),
    ],
)
def test_a_damaged_folder_is_named(networks, given, name, content, message):
    folder = given(networks / "dolphins")
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    found = refusal("dolphins")
    assert found.startswith(f"{folder}: ")
    assert message in found


def test_a_folder_with_something_else_in_it_is_named(networks, given):
    folder = given(networks / "cora", without=["edges.tsv"])
    expected = f"{folder}: a data set is edges.tsv and its other files, or cora.tgz; here is neither"
    assert refusal("cora") == expected


def test_a_folder_that_is_not_there_is_named(cache, monkeypatch, tmp_path):
    monkeypatch.setenv("EFGE_DATA", str(tmp_path / "nowhere"))
    assert refusal("cora").endswith(f"there is no folder {tmp_path / 'nowhere'}")


def test_a_damaged_copy_in_the_cache_is_named_and_left_alone(networks, publish, publisher, cache):
    publish("dolphins", newman(networks / "dolphins"))
    load_dataset("dolphins")
    (cache / "dolphins" / "edges.tsv").write_text("0\t1\n")
    assert "159 edges expected, 1 found" in refusal("dolphins")
    assert len(publisher.asked) == 1
    assert "edges.tsv" in {path.name for path in (cache / "dolphins").iterdir()}


# What is known.


def test_the_catalogue_holds_together():
    assert list(DATASETS) == EIGHT + OTHERS
    for name, known in DATASETS.items():
        assert known.reader in publishers._READERS
        assert all(address.startswith("http") and address.endswith(known.file_name) for address in known.addresses)
        assert (known.fingerprint is not None) == (name in EIGHT)
        assert (known.label_fingerprint is not None) == (name in EIGHT and known.classes > 0)
        assert known.about
        assert known.citation


def test_loading_needs_no_heavy_library_before_it_is_asked():
    code = "import efge.datasets, sys; sys.exit(bool({'pooch', 'requests', 'pandas'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_data_set_is_ready_for_an_estimator(networks, cache, monkeypatch):
    monkeypatch.setenv("EFGE_DATA", str(networks))
    dolphins = load_dataset("dolphins")
    vectors = efge.EFGE(dim=8, seed=0).fit(dolphins.graph).embedding_
    assert all(vectors[name].shape == (8,) for name in dolphins.labels)
