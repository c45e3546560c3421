"""The local engine: buckets in a valid order, bounded memory, no files left behind."""

from __future__ import annotations

import errno
import itertools
import json
import signal
import stat
import subprocess
import sys
import time

import networkx as nx
import numpy as np
import pytest

import efge
from efge.training.partitioned.local import _sweep
from efge.training.partitioned.schedule import sub_waves
from helpers import assert_fails, run

GRAPH = nx.barabasi_albert_graph(300, 3, seed=0)


@pytest.mark.parametrize("partitions", [1, 2, 3, 8])
def test_the_sweep_trains_each_partition_in_the_order_of_the_sub_waves(partitions):
    schedule = sub_waves(3, partitions, 9)
    swept = list(_sweep(schedule))
    assert sorted(swept) == sorted((number, pair) for number in range(partitions) for pair in schedule[number])
    for table, partition in itertools.product((0, 1), range(partitions)):
        order = [number for number, pair in swept if pair[table] == partition]
        assert order == list(range(partitions))
    changes_of_centers = sum(a[1][0] != b[1][0] for a, b in itertools.pairwise(swept))
    assert changes_of_centers <= 2 * partitions


def test_a_workdir_without_partitions_is_refused(tmp_path):
    with pytest.raises(ValueError, match="workdir is the folder for partitions; set their number too"):
        efge.EFGE.paper(dim=16).fit(GRAPH, workdir=tmp_path)


def test_a_new_workdir_is_for_its_user_alone(tmp_path):
    efge.EFGE.paper(dim=4, partitions=2, walks_per_node=1, seed=1).fit(GRAPH, workdir=tmp_path / "work")
    assert stat.S_IMODE((tmp_path / "work").stat().st_mode) == 0o700


def test_disk_space_is_reserved_before_vectors_are_gathered_and_its_lack_names_the_folder(tmp_path, monkeypatch):
    def reserve(file, size):
        assert size == 4 * 300 * 4
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("efge.io.scratch.reserve_space", reserve)
    with pytest.raises(OSError, match="cannot create a file of 4,800 bytes in the folder: No space") as caught:
        efge.EFGE.paper(dim=4, partitions=2, walks_per_node=1, seed=1).fit(GRAPH, workdir=tmp_path)
    assert caught.value.filename == str(tmp_path)
    assert not list(tmp_path.iterdir())


LIMITED = """
import resource, sys, threading
import numpy as np
import efge
from efge.graph.predictability import measure_predictability
from efge.training.partitioned import schedule

# Stacks of threads count in full, however little of them is used.
threading.stack_size(1 << 20)
# Fewer waves take less time, and no less memory.
schedule._GROWTH = 2
nodes, dim, folder = 40_000, 512, sys.argv[1]
table_bytes = 2 * 4 * nodes * dim
random = np.random.default_rng(0)
edges = np.column_stack([np.arange(nodes), random.integers(0, nodes, nodes)])
graph = efge.as_graph(edges, nodes=range(nodes))
options = {"seed": 1, "threads": 2, "walk_length": 5, "walks_per_node": 1}
efge.EFGE.paper(dim=16, partitions=2, **options).fit([(0, 1), (1, 2)]).embedding_.save(f"{folder}/small.npz")
efge.EFGE.paper(dim=16, **options).fit([(0, 1), (1, 2)])
# What is known of the graph itself is not part of the tables.
measure_predictability(graph)
with open("/proc/self/status") as status:
    used = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))
resource.setrlimit(resource.RLIMIT_DATA, (used + table_bytes // 4, used + table_bytes // 4))
try:
    efge.EFGE.paper(dim=dim, **options).fit(graph)
    sys.exit("whole tables fit into memory: the limit shows nothing")
except MemoryError:
    pass
model = efge.EFGE.paper(dim=dim, partitions=16, **options).fit(graph, workdir=folder)
model.embedding_.save(f"{folder}/vectors.npz")
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as Linux does it")
def test_memory_of_a_quarter_of_the_tables_is_enough(tmp_path):
    done = subprocess.run([sys.executable, "-c", LIMITED, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    saved = efge.Embedding.load(tmp_path / "vectors.npz")
    assert saved.vectors.shape == (40_000, 512)
    assert np.abs(saved.vectors).max() > 0.5 / 512, "vectors are as they were initialized"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.npz", "vectors.npz"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "graph.txt").write_text("".join(f"{u} {v}\n" for u, v in GRAPH.edges))
    return tmp_path


def arguments(*more):
    fixed = ["embed", "graph.txt", "-o", "v.npz", "--dim", "16", "--seed", "1", "--quiet", "--partitions", "3"]
    return [*fixed, *more]


def start_command(folder, *more):
    return subprocess.Popen(
        [sys.executable, "-m", "efge", *arguments(*more)], cwd=folder, stderr=subprocess.PIPE, text=True
    )


def test_the_command_trains_in_partitions_and_its_record_repeats_it(folder):
    assert run(*arguments("--walks-per-node", "10", "--workdir", "work"), cwd=folder) == (0, "", "")
    assert not list((folder / "work").iterdir())
    record = json.loads((folder / "v.npz.json").read_text())
    assert record["config"]["partitions"] == 3
    expected = efge.EFGE(dim=16, seed=1, partitions=3, walks_per_node=10).fit(folder / "graph.txt").embedding_
    content = (folder / "v.npz").read_bytes()
    assert efge.Embedding.load(folder / "v.npz") == expected
    (folder / "v.npz").unlink()
    assert run("embed", "--config", "v.npz.json", "--quiet", cwd=folder).returncode == 0
    assert (folder / "v.npz").read_bytes() == content
    assert sorted(path.name for path in folder.iterdir()) == ["graph.txt", "v.npz", "v.npz.json", "work"]


@pytest.mark.parametrize("with_checkpoints", [False, True])
def test_an_interrupted_command_leaves_no_partitions_behind(folder, with_checkpoints):
    # Compiles first: interrupts of the compiler have a test of their own.
    assert run(*arguments("--walks-per-node", "1", "--workdir", "work"), cwd=folder).returncode == 0
    for path in folder.glob("v.npz*"):
        path.unlink()
    more = ["--checkpoint", "checkpoints", "--every", "0s"] if with_checkpoints else []
    process = start_command(folder, "--walks-per-node", "20000", "--workdir", "work", *more)
    started = "checkpoints/*" if with_checkpoints else "work/*/buckets"
    while process.poll() is None and not list(folder.glob(started)):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    message = process.communicate()[1]
    assert (process.returncode, message.count("\n")) == (130, 1), message
    assert not list((folder / "work").iterdir())
    assert ("add --resume to continue" in message) == with_checkpoints


def test_a_workdir_needs_partitions_on_the_command_line_too(folder):
    done = run("embed", "graph.txt", "-o", "v.npz", "--workdir", "work", cwd=folder)
    assert_fails(done, "--workdir is for partitioned training; add --partitions with the number of partitions")
