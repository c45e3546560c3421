"""What goes wrong around a run: kills while it writes, full and read-only disks, lost folders, too little memory."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import networkx as nx
import pytest

import efge

GRAPH = nx.barabasi_albert_graph(600, 4, seed=1)
CGROUPS = {"memory.limit_in_bytes": Path("/sys/fs/cgroup/memory"), "memory.max": Path("/sys/fs/cgroup")}


def command(*arguments):
    fixed = ["embed", "graph.txt", "--seed", "1", "--dim", "64", "--walks-per-node", "10", "--quiet"]
    return [sys.executable, "-m", "efge", *fixed, *map(str, arguments)]


def run(folder, *arguments):
    return subprocess.run(command(*arguments), cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def workplace(tmp_path):
    (tmp_path / "graph.txt").write_text("".join(f"{u} {v}\n" for u, v in GRAPH.edges))
    return tmp_path


def mount(folder, *options):
    folder.mkdir(exist_ok=True)
    return subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", folder], capture_output=True, check=False)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 256 KiB: room for a state of this graph at 16 dimensions, not at 64."""
    disk = tmp_path / "disk"
    if os.name != "posix" or os.geteuid() or mount(disk, "-o", "size=256k").returncode:
        pytest.skip("mounting a small disk takes the rights of root")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


def everything(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def one_line(done):
    assert done.returncode == 2, done
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("efge: ")
    return done.stderr


def test_a_kill_during_the_final_write_leaves_what_was_there(workplace):
    # A packed text takes long enough to write to be killed in the middle of it.
    assert run(workplace, "-o", "v.csv.xz", "--checkpoint", "states", "--every", "0s").returncode == 0
    expected = (workplace / "v.csv.xz").read_bytes()
    (workplace / "v.csv.xz").write_bytes(b"what was there before")
    for how in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        goes_on = command("-o", "v.csv.xz", "--checkpoint", "states", "--resume")
        process = subprocess.Popen(goes_on, cwd=workplace, stderr=subprocess.PIPE)
        before = set(workplace.glob(".v.csv.xz.*"))
        while process.poll() is None and set(workplace.glob(".v.csv.xz.*")) == before:
            time.sleep(0.0005)
        # In the midst of it: a file that was made this moment might not be known yet to those who would clear it away.
        time.sleep(0.02)
        process.send_signal(how)
        process.communicate()
        assert process.returncode not in (0, 2), "it was done before the kill came"
        assert (workplace / "v.csv.xz").read_bytes() == b"what was there before"
        if how != signal.SIGKILL:
            assert set(workplace.glob(".v.csv.xz.*")) == before
    assert run(workplace, "-o", "v.csv.xz", "--checkpoint", "states", "--resume").returncode == 0
    assert (workplace / "v.csv.xz").read_bytes() == expected


def test_a_full_disk_under_the_output_is_one_line_and_the_state_is_whole(workplace, small_disk):
    (small_disk / "v.csv").write_text("what was there before")
    done = run(workplace, "-o", small_disk / "v.csv", "--checkpoint", "states", "--every", "0s")
    assert one_line(done) == f"efge: {small_disk}/v.csv: No space left on device\n"
    assert everything(small_disk) == ["v.csv"]
    assert (small_disk / "v.csv").read_text() == "what was there before"
    again = run(workplace, "-o", "v.csv", "--checkpoint", "states", "--resume")
    assert again.returncode == 0
    assert run(workplace, "-o", "other.csv").returncode == 0
    assert (workplace / "v.csv").read_bytes() == (workplace / "other.csv").read_bytes()


def test_a_full_disk_under_the_states_is_one_line_and_those_before_stay(workplace, small_disk):
    states = small_disk / "states"
    done = run(workplace, "-o", "v.npz", "--checkpoint", states, "--every", "0s")
    assert "No space left on device" in one_line(done)
    assert str(states) in done.stderr
    assert everything(states) == []
    assert not (workplace / "v.npz").exists()
    # A smaller state fits once; the second one does not, and the first one stays.
    small = ["-o", "v.npz", "--checkpoint", states, "--every", "0s", "--dim", "16"]
    (small_disk / "filler").write_bytes(bytes(256 * 1024 - 16 * 600 * 8 - 40_000))
    assert "No space left on device" in one_line(run(workplace, *small))
    assert len(everything(states)) == 1
    (small_disk / "filler").unlink()
    assert run(workplace, *small, "--resume").returncode == 0
    expected = (workplace / "v.npz").read_bytes()
    assert run(workplace, "-o", "w.npz", "--dim", "16").returncode == 0
    assert (workplace / "w.npz").read_bytes() == expected


def test_a_full_disk_under_mapped_tables_is_one_line(workplace, small_disk):
    done = run(workplace, "-o", small_disk / "v.npz", "--mmap")
    assert f"{small_disk}: no file of 265,280 bytes can be made in the folder: No space" in one_line(done)
    assert everything(small_disk) == []


@pytest.mark.parametrize("what", ["-o", "--checkpoint"])
def test_a_read_only_disk_is_refused_before_training(workplace, small_disk, what):
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    arguments = ["-o", small_disk / "v.npz"] if what == "-o" else ["-o", "v.npz", "--checkpoint", small_disk]
    done = run(workplace, *arguments, "--walks-per-node", "100000000")
    assert one_line(done) == f"efge: {small_disk}: no permission to write into the folder\n"


def interrupted_by(workplace, action, *arguments):
    """Run, do something when the first state is there, and let it end."""
    options = ["-o", "out/v.npz", "--checkpoint", "states", "--every", "0s", *arguments]
    process = subprocess.Popen(command(*options), cwd=workplace, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not list(workplace.glob("states/state-*")):
        time.sleep(0.001)
    action()
    message = process.communicate()[1]
    return subprocess.CompletedProcess(process.args, process.returncode, "", message)


def test_an_output_folder_that_vanishes_is_one_line_and_the_run_goes_on_elsewhere(workplace):
    (workplace / "out").mkdir()
    done = interrupted_by(workplace, lambda: shutil.rmtree(workplace / "out"))
    assert one_line(done) == "efge: out: no such folder\n"
    assert not (workplace / "out").exists()
    assert run(workplace, "-o", "v.npz", "--checkpoint", "states", "--resume").returncode == 0
    assert run(workplace, "-o", "w.npz").returncode == 0
    assert (workplace / "v.npz").read_bytes() == (workplace / "w.npz").read_bytes()


def test_a_folder_of_states_that_vanishes_is_made_again(workplace):
    (workplace / "out").mkdir()
    assert interrupted_by(workplace, lambda: (workplace / "states").rename(workplace / "gone")).returncode == 0
    assert list(workplace.glob("states/state-*"))


def test_what_a_kill_left_of_a_state_is_cleared_away(tmp_path):
    (tmp_path / ".state-7.efge.abc").write_bytes(b"half of it")
    efge.EFGE(dim=4, seed=1, walks_per_node=1).fit(GRAPH, checkpoint=tmp_path)
    assert not list(tmp_path.glob(".state-*"))


@pytest.mark.parametrize("dim", [16, 20])
def test_tables_in_mapped_files_give_the_same_bytes_and_leave_nothing(tmp_path, dim):
    def model():
        return efge.EFGE(dim=dim, walks_per_node=2, seed=1)

    mapped = model().fit(GRAPH, mmap=tmp_path)
    assert everything(tmp_path) == []
    expected = model().fit(GRAPH)
    assert mapped.embedding_ == expected.embedding_
    assert mapped.context_embedding_ == expected.context_embedding_
    assert efge.DeepWalk(dim=dim, walks_per_node=1, seed=1).fit(GRAPH, mmap=tmp_path).embedding_.dim == dim


def test_a_folder_for_mapped_tables_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        efge.EFGE(dim=4).fit(GRAPH, mmap=tmp_path / "nowhere")


@pytest.fixture
def memory_limit():
    """Limit the memory of a process, all of it, that of mapped files included."""
    group = name = None
    for name, root in CGROUPS.items():
        group = root / f"efge-test-{os.getpid()}"
        try:
            group.mkdir()
            (group / name).write_text(str(230 << 20))
            break
        except OSError:
            if group.exists():
                group.rmdir()
            group = None
    if group is None:
        pytest.skip("limiting memory takes a control group, which takes the rights of root")
    yield lambda: (group / "cgroup.procs").write_text(str(os.getpid()))
    time.sleep(0.2)
    group.rmdir()


def test_mapped_tables_larger_than_all_memory_give_the_same_bytes(tmp_path, memory_limit):
    # Two tables of 15,000 rows of 8 KiB are 246 MB; the process may have 241 MB, its program and libraries included.
    (tmp_path / "graph.txt").write_text("".join(f"{i} {(i + 1) % 15_000}\n" for i in range(15_000)))
    work = ["--dim", "2048", "--walks-per-node", "1", "--walk-length", "2", "--negatives", "1"]
    limited = {"cwd": tmp_path, "preexec_fn": memory_limit, "capture_output": True, "text": True, "check": False}
    done = subprocess.run(command("-o", "mapped.npz", *work, "--mmap"), **limited)
    assert done.returncode == 0, done.stderr
    assert subprocess.run(command("-o", "in-memory.npz", *work), **limited).returncode == -signal.SIGKILL
    assert not (tmp_path / "in-memory.npz").exists()
    assert run(tmp_path, "-o", "free.npz", *work).returncode == 0
    assert (tmp_path / "mapped.npz").read_bytes() == (tmp_path / "free.npz").read_bytes()


def test_a_training_that_needs_more_than_its_limit_is_refused_with_what_to_lower(workplace):
    limited = ["-o", "v.npz", "--walks-per-node", "1", "--memory-limit"]
    message = one_line(run(workplace, *limited, "215M", "--dim", "20000"))
    assert message.startswith("efge: this needs 2")
    assert "and the limit is 215M; try --dim " in message
    assert message.endswith(", or --partitions 16, or --mmap\n")
    dim = message.partition("--dim ")[2].split(",")[0]
    assert run(workplace, *limited, "215M", "--dim", dim).returncode == 0
    assert one_line(run(workplace, *limited, "215M", "--dim", int(dim) + 500)).startswith("efge: this needs 2")
    assert "the graph alone needs more; raise the limit" in one_line(run(workplace, *limited, "100 MiB"))


def test_the_memory_of_a_graph_that_is_not_there_yet_is_that_of_one_that_is():
    graph = efge.as_graph(GRAPH)
    said = efge.estimate_memory(graph, efge.EFGE(dim=20))
    assert said == efge.estimate_memory(nodes=600, edges=GRAPH.number_of_edges(), model=efge.EFGE(dim=20))
    assert said.tables == 2 * 4 * 600 * 32
    mapped = efge.estimate_memory(graph, efge.EFGE(dim=20), mmap=True)
    assert (mapped.tables, mapped.mapped, said.peak - mapped.peak) == (0, said.tables, said.tables)
    assert efge.estimate_memory(nodes=9, edges=10**9).peak > 30e9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": efge.HOPE(), "nodes": 1, "edges": 1}, "HOPE does not"),
        ({"nodes": 5}, "numbers of nodes and edges"),
        ({"nodes": 0, "edges": 1}, "nodes is a whole number"),
    ],
)
def test_memory_that_cannot_be_told_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        efge.estimate_memory(**arguments)
