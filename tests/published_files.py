"""Files in the formats of the publishers of data sets, and a server that publishes them."""

import gzip
import io
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import coo_array, csr_array

from efge.datasets import DatasetError, load_dataset

PAPER_NETWORKS = ["citeseer", "cora", "dblp", "astroph", "hepth", "facebook", "grqc", "dolphins"]
OTHER_NETWORKS = ["blogcatalog", "ppi", "wikipedia", "pubmed"]


# The publishers' files, written from the plain files of the data sets.


def make_zip(files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def make_tar(files):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content.encode())
            archive.addfile(entry, io.BytesIO(content.encode()))
    return data.getvalue()


def join_rows(rows, delimiter="\t"):
    return "".join(delimiter.join(map(str, row)) + "\n" for row in rows)


def shuffle_rows(rows):
    return np.random.default_rng(0).permutation(rows).tolist()


def read_integers(path):
    return np.loadtxt(path, np.int64, ndmin=2)


def read_names(path):
    return dict(line.split("\t") for line in path.read_text().splitlines())


def snap_file(folder):
    edges = read_integers(folder / "edges.tsv")
    if folder.name == "facebook":
        return gzip.compress(join_rows(shuffle_rows(edges), " ").encode())
    # Smaller components, which are not part of the data set, and every edge in both directions.
    others = edges.max() + np.array([[1, 2], [2, 3], [4, 4], [5, 6]])
    both = np.concatenate([edges, edges[:, ::-1], others, others[:, ::-1]])
    header = "# Directed graph (each unordered pair of nodes is saved once)\r\n# FromNodeId\tToNodeId\r\n"
    return gzip.compress((header + join_rows(shuffle_rows(both)).replace("\n", "\r\n")).encode(), 1)


def cora_file(folder):
    topics = read_names(folder / "label_names.tsv")
    papers = [
        [paper, 0, 1, 0, topics[str(topic)]] for paper, topic in shuffle_rows(read_integers(folder / "labels.tsv"))
    ]
    edges = read_integers(folder / "edges.tsv")
    cites = np.concatenate([edges[::2], edges[1::2, ::-1], edges[:150, ::-1]])
    files = {
        "cora/._cora.content": "no",
        "cora/cora.content": join_rows(papers),
        "cora/cora.cites": join_rows(shuffle_rows(cites)),
    }
    return make_tar({"cora/README": "words", **files})


def matrix_file(edges, group, weights=None):
    edges, n = np.asarray(edges), group.shape[0]
    values = np.ones(len(edges)) if weights is None else np.asarray(weights, float)
    upper = coo_array((values, (edges[:, 0], edges[:, 1])), shape=(n, n)).tocsr()
    loops = csr_array((upper.diagonal(), (range(n), range(n))), shape=(n, n))
    network = (upper + upper.T - loops).tocsc()
    file = io.BytesIO()
    savemat(file, {"network": network, "group": group}, do_compression=True)
    return file.getvalue()


def harp_file(folder):
    labels = read_integers(folder / "labels.tsv")
    members = np.zeros((len(labels), labels[:, 1].max() + 1))
    members[labels[:, 0], labels[:, 1]] = 1
    if folder.name == "citeseer":
        return matrix_file(read_integers(folder / "edges.tsv"), csr_array(members))
    weights = np.random.default_rng(0).uniform(0, 0.4, members.shape)
    return matrix_file(read_integers(folder / "edges.tsv"), weights + 0.4 * members)


def newman_file(folder, edges=None):
    names = read_names(folder / "names.tsv")
    edges = read_integers(folder / "edges.tsv") if edges is None else edges
    nodes = "".join(f'  node\n  [\n    id {node}\n    label "{name}"\n  ]\n' for node, name in names.items())
    links = "".join(f"  edge\n  [\n    source {b}\n    target {a}\n  ]\n" for a, b in edges)
    text = f'Creator "Mark Newman on Wed Jul 26 15:04:20 2006"\ngraph\n[\n  directed 0\n{nodes}{links}]\n'
    return make_zip({"dolphins.txt": "words", "dolphins.gml": text})


FILE_MAKERS = {"cora": cora_file, "citeseer": harp_file, "dblp": harp_file, "dolphins": newman_file}


# Small networks in the formats of the other publishers: a path of four nodes and a self-loop.


def blogcatalog_file():
    groups = [[1, 2], [2, 1], [2, 2], [3, 1], [4, 3]]
    files = {"edges.csv": join_rows([[1, 2], [2, 3], [4, 3]], ","), "group-edges.csv": join_rows(groups, ",")}
    return make_zip({f"BlogCatalog-dataset/data/{name}": content for name, content in files.items()})


def node2vec_file(weights=None):
    group = csr_array(np.array([[0, 1, 0], [1, 1, 0], [0, 0, 0], [1, 0, 0]], np.uint8))
    return matrix_file([[0, 1], [1, 2], [3, 2], [2, 2]], group, weights)


def pubmed_file():
    papers = ["NODE\tpaper", "cat=1,2,3:label\tnumeric:w-rat:0.0\tstring:summary"]
    papers += [f"{paper}\tlabel={label}\tw-rat=0.09\tsummary=w-rat" for paper, label in [(30, 1), (7, 2), (12, 3)]]
    ends = [(30, 7), (7, 30), (12, 7), (12, 12)]
    cites = ["DIRECTED\tcites", "NO_FEATURES", *(f"{i}\tpaper:{a}\t|\tpaper:{b}" for i, (a, b) in enumerate(ends))]
    inner = {"NODE.paper": papers, "DIRECTED.cites": cites}
    return make_tar(
        {f"Pubmed-Diabetes/data/Pubmed-Diabetes.{name}.tab": "\n".join(inner[name]) + "\n" for name in inner}
    )


SMALL_NETWORKS = {
    "blogcatalog": (blogcatalog_file, {"nodes": 4, "edges": 3, "classes": 3}),
    "ppi": (node2vec_file, {"nodes": 4, "edges": 4, "self_loops": 1, "classes": 3, "components": 1, "structure": None}),
    "wikipedia": (lambda: node2vec_file([2, 0.5, 3, 7]), {"nodes": 4, "edges": 4, "self_loops": 1, "classes": 3}),
    "pubmed": (pubmed_file, {"nodes": 3, "edges": 3, "self_loops": 1, "structure": None}),
}


class Publisher:
    """A server on this machine; for each path it answers bytes, or calls a function with the request."""

    def __init__(self):
        self.answers, self.requests = {}, []
        publisher = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                publisher.requests.append(self.path)
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


def list_files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) if folder.exists() else []


def load_error(name):
    with pytest.raises(DatasetError) as caught:
        load_dataset(name)
    message = str(caught.value)
    assert "\n" not in message
    return message
