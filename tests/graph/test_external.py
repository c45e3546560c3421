"""A converted graph equals the one read from text, bit for bit; memory is bounded; damage is detected."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import json
import lzma
import os
import pickle
import re
import resource
import signal
import subprocess
import sys
import time
import tracemalloc
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import efge
import reference
from efge import Graph, GraphError
from efge.graph.mapped import Header
from efge.kernels import csr
from efge.kernels import external as kernel
from helpers import assert_fails, run

# So little that chunks of a few hundred entries are sorted.
TINY = 10_000


def assert_same(graph, other):
    assert other.fingerprint() == graph.fingerprint()
    for field in ("indptr", "indices", "weights", "names"):
        one, two = getattr(graph, field), getattr(other, field)
        assert (one is None) == (two is None)
        if one is not None:
            assert one.dtype == two.dtype
            assert one.tobytes() == two.tobytes() or one.tolist() == two.tolist()
            assert not two.flags.writeable
    assert list(map(type, graph.names.tolist())) == list(map(type, other.names.tolist()))
    assert graph.components.tolist() == other.components.tolist()
    assert (repr(graph), graph.directed) == (repr(other), other.directed)


def convert(path, memory=TINY, **options):
    """Convert a graph; return it, and the number of chunks that were sorted."""
    is_sorting = []
    new = path.with_suffix(".efge")
    efge.convert_graph(
        path, new, memory=memory, progress=lambda stage, done, total: is_sorting.append(stage == "sorting"), **options
    )
    assert sorted(entry.name for entry in path.parent.glob(".*")) == []
    return Graph.open(new), sum(is_sorting)


NAMES = {
    "small integers": lambda rng, n: rng.permutation(n),
    "large integers": lambda rng, n: rng.integers(-(2**62), 2**62, n),
    "words": lambda rng, n: [f"w{number:x}" for number in rng.permutation(n)],
    "long words": lambda rng, n: [
        f"{'ä' * (number % 5)} a name of many letters {number}".replace(" ", "_") for number in range(n)
    ],
    "integers, then a word": lambda rng, n: [*range(n - 1), "last"],
}


def random_text(seed, kind, weighted, n=200, m=2500):
    """Edges with duplicates in both directions, self-loops, comments and blank lines."""
    rng = np.random.default_rng(seed)
    names = NAMES[kind](rng, n)
    ends = np.minimum(rng.integers(0, n, (m, 2)), rng.integers(0, n, (m, 2)))
    ends[::50, 1] = ends[::50, 0]
    ends[-1] = n - 1
    weights = [
        f" {weight!r}" if weighted else "" for weight in (rng.random(m) * 10.0 ** rng.integers(-9, 9, m)).tolist()
    ]
    lines = [f"{names[u]} {names[v]}{weight}" for (u, v), weight in zip(ends.tolist(), weights, strict=True)]
    lines[7:7] = ["# a comment", "", "   ", "% another"]
    return "\n".join(lines)


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_a_converted_graph_equals_the_one_read_into_memory(write, kind, weighted, directed):
    path = write("edges.txt", random_text(1, kind, weighted))
    for drop in (False, True):
        graph = efge.read_graph(path, directed=directed, drop_self_loops=drop)
        other, chunks = convert(path, directed=directed, drop_self_loops=drop)
        assert chunks > 8
        assert_same(graph, other)


@given(
    st.lists(
        st.tuples(*2 * [st.one_of(st.integers(-5, 5), st.integers(), st.sampled_from("abcä"))], st.floats(0.1, 9)),
        min_size=1,
    ),
    st.booleans(),
    st.booleans(),
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_any_edges_convert_to_the_graph_that_is_read(tmp_path_factory, edges, directed, weighted):
    path = tmp_path_factory.mktemp("any") / "edges.txt"
    path.write_text("".join(f"{u} {v}{f' {weight!r}' if weighted else ''}\n" for u, v, weight in edges), "utf-8")
    assert_same(efge.read_graph(path, directed=directed), convert(path, 1, directed=directed)[0])


def test_the_memory_limit_does_not_change_the_file(write):
    path = write("edges.txt", random_text(2, "words", True))
    contents = set()
    for memory in (TINY, 10 * TINY, "1M", "0.5 GiB", None):
        convert(path, memory)
        contents.add(path.with_suffix(".efge").read_bytes())
    assert len(contents) == 1


CSV = "who;whom;often;note\nann;bob;2;x\nbob;cid;0.5;y\nann;bob;1;z\ndan;dan;3;\n"


@pytest.mark.filterwarnings("ignore:.* are the same number")
@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("e.csv", CSV, {"source": "who", "target": "whom", "weight": "often"}),
        ("e.csv", CSV, {"source": 1, "target": 0, "header": True, "delimiter": ";", "directed": True}),
        ("e.csv", "source,target,weight\na,b,1\nb,a,2\n", {}),
        ("e.csv", "source,target,weight\na,b,1\nb,a,2\n", {"weighted": False, "nodes": ["z", "b"]}),
        ("e.tsv", "a b\tc\nc\ta b\n", {}),
        ("e.adj", "a b c\nb c\nd\n", {}),
        ("e.txt", '"a" b\nb c\n', {"comments": "b"}),
        ("e.txt", "1 1\n2 2\n", {"drop_self_loops": True, "nodes": [7]}),
        ("e.txt", "1 1 5\n", {"drop_self_loops": True}),
        ("e.txt", f"{2**63} 1\n1 {2**70}\n", {}),
        ("e.txt", f"{-(2**63)} 1\n1 2\n", {}),
        ("e.txt", "01 1\n1 2\n", {}),
        ("e.txt", "ä ö\nö ü\n".encode("latin-1"), {"encoding": "latin-1"}),
        ("e.txt", ("ä ö\nö 𝄞\n" * 5000).encode("utf-16"), {"encoding": "utf-16"}),
        ("e.txt", b"\xef\xbb\xbfa b\r\nb c\r\n", {}),
        ("e.txt.gz", gzip.compress(b"a b\nb c\n", mtime=0), {}),
        ("e.txt.bz2", bz2.compress(b"a b\nb c\n"), {}),
        ("e.txt.xz", lzma.compress(b"a b\nb c\n"), {}),
        ("e.txt.zst", pa.compress(b"a b\nb c\n", "zstd", asbytes=True), {}),
    ],
)
def test_conversion_accepts_all_text_options_of_read_graph(write, name, content, options):
    path = write(name, content)
    graph = efge.read_graph(path, **options)
    assert_same(graph, convert(path, "4M", **options)[0])


def test_a_file_of_nodes_and_standard_input_are_read(write, tmp_path, monkeypatch):
    nodes = write("nodes.txt", "node\nz\nb\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"a b\nb c\n"))))
    efge.convert_graph("-", tmp_path / "graph.efge", nodes=nodes)
    assert Graph.open(tmp_path / "graph.efge").names.tolist() == ["z", "b", "a", "c"]


@pytest.mark.parametrize("name", ["edges.txt", "edges.txt.gz"])
def test_progress_reports_every_stage_from_start_to_end(write, tmp_path, name):
    text = random_text(4, "words", False).encode()
    reports = []
    path = write(name, gzip.compress(text) if name.endswith("gz") else text)
    efge.convert_graph(path, tmp_path / "new.efge", memory=TINY, progress=lambda *report: reports.append(report))
    assert list(dict.fromkeys(stage for stage, _, _ in reports)) == ["reading", "distributing", "sorting"]
    for stage in ("reading", "distributing", "sorting"):
        done, totals = zip(*[report[1:] for report in reports if report[0] == stage], strict=True)
        assert list(done) == sorted(done)
        assert set(totals) == {done[-1]}
        assert len(done) > 2 or name.endswith("gz")


# A converted graph works like any other


@pytest.fixture
def pair(write):
    """A weighted graph in memory, the converted one, and the path of the text."""
    path = write("edges.txt", random_text(3, "words", True))
    return efge.read_graph(path), convert(path)[0], path


def test_walks_are_the_same_and_leave_no_files(pair, tmp_path):
    graph, other, _ = pair
    before = sorted(tmp_path.iterdir())
    for strategy in ("uniform", "weighted", efge.Node2VecWalk(0.1, 4), efge.Node2VecWalk(4, 0.2)):
        walks = [list(efge.Walks(each, strategy, walks_per_node=2, seed=5)) for each in (graph, other)]
        assert walks[0] == walks[1]
        assert sorted(tmp_path.iterdir()) == before


def test_walks_do_not_copy_the_rows(pair):
    from efge.walks.strategies import _transition_tables

    tables = _transition_tables(pair[1], weighted=True)
    mapped = np.frombuffer(pair[1]._file._map, np.uint8)
    for array in (tables.indices, tables.weights):
        assert np.shares_memory(array, mapped)
    assert tables.prob.base is not None


def test_methods_give_the_same_results_and_names(pair):
    graph, other, _ = pair
    name = graph.names.tolist()[17]
    assert other.neighbors(name) == graph.neighbors(name)
    assert name in other
    assert "nobody" not in other
    assert_same(graph.largest_component(), other.largest_component())
    assert_same(graph.subgraph(graph.names[5:90].tolist()), other.subgraph(graph.names[5:90].tolist()))
    assert_same(graph, pickle.loads(pickle.dumps(other)))
    assert efge.as_graph(other) is other
    assert_same(
        efge.as_graph(graph, directed=True, weighted=False), efge.as_graph(other, directed=True, weighted=False)
    )


def test_counts_and_fingerprints_do_not_load_the_names(pair):
    _, other, path = pair
    for graph in (other, efge.read_graph(path.with_suffix(".efge"))):
        repr(graph), graph.fingerprint(), graph.components, graph._stored_names[np.array([3, 4])]
        assert "names" not in graph.__dict__


def test_a_converted_graph_is_recognized_by_its_first_bytes(pair, tmp_path):
    graph, _, path = pair
    plain = path.with_suffix(".efge").rename(tmp_path / "plain")
    assert_same(graph, efge.read_graph(plain))
    assert_same(graph, efge.as_graph(plain))
    extra = efge.read_graph(plain, nodes=["5", "w1"])
    assert extra.names.tolist() == [*graph.names.tolist(), "5"]


# Lines of efge info about text that was read, and about predictability, which is not measured on disk.
IN_MEMORY = ("rows", "merged", "guessed", "predictability", "looks wrong")


@pytest.mark.usefixtures("pair")
def test_commands_accept_a_converted_graph(tmp_path):
    short = ["--dim", 8, "--walks-per-node", 3, "--seed", 1]
    outputs = {}
    for name in ("edges.txt", "edges.efge"):
        assert run("embed", name, "-o", "v.npz", "--force", *short, cwd=tmp_path).returncode == 0
        assert (
            run("walks", name, "-o", "w.txt", "--seed", 2, "--strategy", "weighted", "--force", cwd=tmp_path).returncode
            == 0
        )
        record = json.loads((tmp_path / "v.npz.json").read_text())
        facts = [line for line in run("info", name, cwd=tmp_path).stdout.splitlines() if not line.startswith(IN_MEMORY)]
        contents = [(tmp_path / output).read_bytes() for output in ("v.npz", "w.txt")]
        outputs[name] = (contents, record["fingerprint"], facts)
    assert outputs["edges.txt"] == outputs["edges.efge"]


def test_the_command_converts_and_reports_the_result(pair, tmp_path):
    _, _, path = pair
    done = run("convert-graph", "edges.txt", "new.efge", "--memory", "100k", "--directed", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    graph = Graph.open(tmp_path / "new.efge")
    assert done.stderr.startswith(f"efge: wrote {graph!r} to new.efge in ")
    assert_same(efge.read_graph(path, directed=True), graph)
    path.write_text("from_name to_name\na b\nb c\n")
    again = ("convert-graph", "edges.txt", "new.efge", "--force")
    assert "occur only in the first line" in run(*again, cwd=tmp_path).stderr
    done = run("--quiet", *again, "--header", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert Graph.open(tmp_path / "new.efge").names.tolist() == ["a", "b", "c"]


# Limits


def test_memory_stays_bounded_however_many_edges_there_are(write):
    rng = np.random.default_rng(0)
    lines = "".join(f"{u} {v}\n" for u, v in rng.integers(0, 1000, (200_000, 2)).tolist())
    path = write("edges.txt", lines)
    convert(path, "2M")
    peaks = []
    for action in (lambda: convert(path, "2M"), lambda: efge.read_graph(path)):
        tracemalloc.start()
        action()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[0] < 3e6 < 6e6 < peaks[1]


def file_names(folder):
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.parametrize(
    ("line", "count", "memory", "message"),
    [
        ("{0} {1}", 70_000, "4M", "edges.txt: counting the edges of "),
        ("{0} {1}", 99_000, "10k", "edges.txt: the names of more than "),
        ("x{0} y", 60_000, "10k", "edges.txt: the names of more than "),
        ("a_long_name_of_node_{0} y", 9_000, "10k", "edges.txt: the names of more than "),
        ("{0}000000000000 1", 60_000, "10k", "edges.txt: the names of more than "),
        ("{0} 1", 1000, "10k", "edges.txt: sorting the 1,000 edges of one node, including duplicates,"),
        ("1 2", 1000, "10k", "edges.txt: sorting the 1,000 edges of one node"),
    ],
)
def test_a_graph_that_needs_more_memory_than_the_limit_is_an_error(write, tmp_path, line, count, memory, message):
    write("edges.txt", "".join(line.format(number, number + 1) + "\n" for number in range(count)))
    done = run("convert-graph", "edges.txt", "graph.efge", "--memory", memory, cwd=tmp_path)
    assert_fails(done, message)
    assert file_names(tmp_path) == ["edges.txt"]
    needed = re.search(r"raise the limit of all memory to ([\d,]+) bytes or more$", done.stderr)
    assert (needed is None) == ("names of" in message)
    memory = needed[1].replace(",", "") if "of one node" in message else "100M"
    assert run("convert-graph", "edges.txt", "graph.efge", "--memory", memory, cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.txt", "g.efge"], "nowhere.txt: no such file"),
        (
            ["edges.txt", "edges.txt"],
            "edges.txt: this is an input, which an output never replaces; choose another name",
        ),
        (["edges.txt", "-"], "a converted graph is written to a file; standard output is not supported"),
        (["edges.txt", "."], ".: this is a directory"),
        (["edges.txt", "/dev/null"], "/dev/null: this is not a regular file"),
        (["edges.txt", "no/folder/g.efge"], "no/folder: no such folder"),
        (
            ["edges.txt", "g.efge", "--memory", "0"],
            "an amount of memory is a positive number of bytes, or text such as 512M or 4G; got '0'",
        ),
        (["edges.txt", "g.efge", "--memory", "much"], "an amount of memory is"),
        (
            ["edges.txt", "g.efge", "--format", "gml"],
            "edges.txt: only text (edgelist, csv, tsv, adjlist) can be converted; this is gml",
        ),
        (["edges.txt", "g.efge", "--nodes", "none.txt"], "none.txt: no such file"),
        (["bad.txt", "g.efge"], "bad.txt, line 3: an edge has 2 fields in this file; got 1"),
        (["empty.txt", "g.efge"], "empty.txt: a graph has at least one edge; the file is empty"),
        (["heavy.txt", "g.efge"], "heavy.txt: the weights of duplicate edges add up to infinity"),
        (["cut.gz", "g.efge"], "cut.gz: the file is damaged or truncated"),
    ],
)
def test_an_error_is_one_line_and_leaves_no_files(write, tmp_path, arguments, message):
    write("edges.txt", "a b\n")
    write("bad.txt", "a b\nb c\nd\n")
    write("empty.txt", "# nothing\n")
    write("heavy.txt", "a b 1e308\na b 1e308\n")
    write("cut.gz", gzip.compress(b"a b\n" * 9999)[:40])
    before = file_names(tmp_path)
    assert_fails(run("convert-graph", *arguments, cwd=tmp_path), message)
    assert file_names(tmp_path) == before


def test_the_old_file_stays_until_the_new_one_is_complete(pair, write, tmp_path):
    graph, _, path = pair
    write("edges.txt", "a b\nc\n")
    with pytest.raises(GraphError, match="line 2"):
        efge.convert_graph(path, tmp_path / "edges.efge")
    assert_same(graph, Graph.open(tmp_path / "edges.efge"))


def test_a_full_disk_is_a_one_line_error(pair, tmp_path, monkeypatch):
    before = file_names(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        done = run("convert-graph", "edges.txt", "new.efge", cwd=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert_fails(done, "new.efge: nothing was written: File too large")
    with monkeypatch.context() as patch:
        patch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 1000}))
        done = run("convert-graph", "edges.txt", "new.efge", cwd=tmp_path)
    assert_fails(done, "new.efge: nothing was written: 0.0 GB of disk space are needed; 0.0 GB are free")

    def full(file, offset, array):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("efge.graph.external._write", full)
    assert_fails(
        run("convert-graph", "edges.txt", "new.efge", cwd=tmp_path), "new.efge: nothing was written: No space left"
    )
    assert file_names(tmp_path) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_files(tmp_path, number):
    """The edges come from a pipe that stays open, so the conversion waits for more."""
    command = [sys.executable, "-m", "efge", "convert-graph", "-", "graph.efge"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)

    with subprocess.Popen(command, cwd=tmp_path, **pipes) as process:
        process.stdin.write(b"a b\n" * 100)
        process.stdin.flush()
        while process.poll() is None and not list(tmp_path.glob(".graph.efge.*/edges")):
            time.sleep(0.05)
        assert file_names(tmp_path) != []
        process.send_signal(number)
        _, stderr = process.communicate()
    assert (process.returncode, stderr) == (130, b"efge: stopped; nothing was written\n")
    assert file_names(tmp_path) == []


# Damage


def test_a_truncated_or_extended_file_is_an_error(pair, tmp_path):
    data = pair[2].with_suffix(".efge").read_bytes()
    path = tmp_path / "cut.efge"
    for size in [*range(0, 4200, 99), *range(4200, len(data), 9999), len(data) - 1]:
        path.write_bytes(data[:size])
        with pytest.raises(GraphError, match=r"cut\.efge: (not a converted graph|the converted graph is)"):
            efge.read_graph(path)
    path.write_bytes(data + b"\0")
    with pytest.raises(GraphError, match="the converted graph is incomplete: it has"):
        efge.read_graph(path)


@pytest.mark.parametrize("names", ["a b c", "1 2 3", f"1 2 {2**80}"], ids=["text", "integers", "numbers"])
def test_every_changed_byte_is_detected_and_no_walk_crashes(write, tmp_path, names):
    a, b, c = names.split()
    path = write("edges.txt", f"{a} {b} 2\n{b} {c} 0.5\n{c} {c} 3\n")
    graph, _ = convert(path)
    data = bytearray(path.with_suffix(".efge").read_bytes())
    used = {
        position
        for section in graph._file.header.sections().values()
        for position in range(section.offset, section.end)
    }
    used |= set(range(0, len(data[:4096].rstrip(b"\0"))))
    damaged = tmp_path / "damaged.efge"
    for position in sorted(used):
        for bit in (0, 7):
            changed = data.copy()
            changed[position] ^= 1 << bit
            damaged.write_bytes(changed)
            with suppress(GraphError):
                other = Graph.open(damaged)
                list(efge.Walks(other, "weighted", walks_per_node=1, seed=1).batches())
                with pytest.raises(GraphError, match="the converted graph is damaged"):
                    other.fingerprint()


def test_a_header_with_false_sizes_is_an_error(pair, tmp_path):
    """The checksum is right, as an attacker would write it."""
    path = pair[2].with_suffix(".efge")
    data = path.read_bytes()
    header = pair[1]._file.header
    changes = [
        {"nodes": -1}, {"nodes": 0}, {"nodes": header.nodes * 2}, {"entries": header.entries - 1}, {"entries": 2**70},
        {"names": "runes"}, {"names": "integers"}, {"name_bytes": 0}, {"nodes": 1.5}, {"entries": "9"},
        {"weighted": False},
    ]  # fmt: skip
    for change in changes:
        path.write_bytes(Header(**(header.__dict__ | change)).to_bytes() + data[4096:])
        with pytest.raises(GraphError, match="the converted graph is"):
            efge.read_graph(path)
    path.write_bytes(data.replace(b"efge graph 1\n", b"efge graph 9\n", 1))
    with pytest.raises(GraphError, match="another version of efge wrote it"):
        efge.read_graph(path)


def test_a_file_that_cannot_be_mapped_is_an_error(pair, tmp_path, write):
    path = pair[2].with_suffix(".efge")
    compressed = write("compressed.efge.gz", gzip.compress(path.read_bytes()))
    with pytest.raises(GraphError, match="it is compressed and cannot be mapped"):
        efge.read_graph(compressed)
    with pytest.raises(GraphError, match="standard input cannot be mapped"):
        Graph.open("-")
    for name in ("nowhere.efge", "."):
        with pytest.raises(GraphError):
            Graph.open(tmp_path / name)
    with pytest.raises(GraphError, match="its first bytes differ; run convert-graph on an edge list"):
        efge.read_graph(write("text.efge", "a b\n"))
    assert_fails(run("info", "text.efge", cwd=tmp_path), "text.efge: not a converted graph")


# Kernels and their slow twins


@given(st.data(), st.integers(1, 12), st.booleans())
def test_entries_are_split_and_sorted_as_by_the_slow_twin(data, n, both_ways):
    nodes = st.integers(0, n - 1)
    edges = data.draw(st.lists(st.tuples(nodes, nodes), max_size=80))
    bounds = [0, *sorted(data.draw(st.sets(st.integers(1, n), max_size=4)) | {n})]
    ends, weights = np.array(edges, np.int32).reshape(-1, 2), np.arange(len(edges), dtype=float)
    sizes, entries = np.empty(len(bounds) - 1, np.int64), np.empty((2 * len(edges), 2), np.int32)
    entry_weights = np.empty(2 * len(edges))
    kernel.split_entries(ends, weights, both_ways, np.array(bounds), sizes, entries, entry_weights)
    counts = np.zeros(n, np.int64)
    kernel.count_entries(ends, both_ways, counts)
    start = 0
    for chunk, expected in enumerate(reference.split_entries(edges, both_ways, bounds)):
        end = start + sizes[chunk]
        actual = zip(*entries[start:end].T.tolist(), entry_weights[start:end].tolist(), strict=True)
        assert list(actual) == expected
        low, high = bounds[chunk : chunk + 2]
        indptr = np.append(0, np.cumsum(counts[low:high]))
        columns, sums = np.empty(len(expected), np.int32), np.empty(len(expected))
        kernel.sort_entries(entries[start:end], entry_weights[start:end], low, indptr, columns, sums)
        in_order = sorted(expected, key=lambda entry: entry[:2])
        assert list(zip(columns.tolist(), sums.tolist(), strict=True)) == [entry[1:] for entry in in_order]
        kernel.sort_entries(entries[start:end], np.empty(0), low, indptr, columns, np.empty(0))
        assert columns.tolist() == [entry[1] for entry in in_order]
        start = end


def test_long_rows_are_sorted_stably():
    rng = np.random.default_rng(0)
    for size in (15, 16, 17, 31, 33, 100, 1000, 5000):
        columns = rng.integers(0, size // 3 + 1, size).astype(np.int32)
        entries = np.column_stack([np.full(size, 7, np.int32), columns])
        order = np.argsort(columns, kind="stable")
        result, weights = np.empty(size, np.int32), np.empty(size)
        kernel.sort_entries(entries, np.arange(size, dtype=float), 7, np.array([0, size]), result, weights)
        assert weights.tolist() == order.tolist()
        assert result.tolist() == columns[order].tolist()


@given(st.lists(st.integers(-1, 7), min_size=1, max_size=6), st.lists(st.integers(-1, 5), max_size=6), st.data())
def test_the_first_invalid_row_is_that_of_the_slow_twin(indptr, indices, data):
    weight = st.sampled_from([1.0, 0.5, 1.0, 0.0, -1.0, np.nan, np.inf])
    weights = data.draw(st.one_of(st.just([]), st.lists(weight, min_size=len(indices), max_size=len(indices))))
    if data.draw(st.booleans()):
        indptr = [0, *sorted(value % (len(indices) + 1) for value in indptr), len(indices)]
    arrays = np.array(indptr), np.array(indices, np.int32), np.array(weights, float)
    assert csr.first_invalid_row(*arrays) == next(reference.invalid_rows(indptr, indices, weights), -1)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=14), st.booleans())
def test_components_self_loops_and_isolated_nodes_are_those_of_the_slow_twin(edges, directed):
    graph = efge.as_graph(edges, directed=directed, nodes=range(10)) if edges else Graph([0, 0], [])
    assert graph.components.tolist() == reference.component_labels(graph.indptr.tolist(), graph.indices.tolist())
    assert graph.n_self_loops == len({u for u, v in edges if u == v})
    assert graph.n_isolated == (10 - len({node for edge in edges for node in edge}) if edges else 1)
