"""Faults during a run: kills while it writes, full and read-only disks, removed folders, too little memory."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import efge
from efge.io.scratch import map_file, scratch_folder
from efge.training.partitioned.files import ArrayFile
from helpers import run as run_here

GRAPH = nx.barabasi_albert_graph(600, 4, seed=1)
CGROUPS = {"memory.limit_in_bytes": Path("/sys/fs/cgroup/memory"), "memory.max": Path("/sys/fs/cgroup")}


def command(*arguments):
    fixed = ["embed", "graph.txt", "--seed", "1", "--dim", "64", "--walks-per-node", "10", "--quiet", "--force"]
    return [sys.executable, "-m", "efge", *fixed, *map(str, arguments)]


def run(folder, *arguments):
    """Run the command in this process, which has compiled the kernels already."""
    return run_here(*command(*arguments)[3:], cwd=folder)


@pytest.fixture
def workdir(tmp_path):
    (tmp_path / "graph.txt").write_text("".join(f"{u} {v}\n" for u, v in GRAPH.edges))
    return tmp_path


def mount(folder, *options):
    folder.mkdir(exist_ok=True)
    return subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", folder], capture_output=True, check=False)


@pytest.fixture
def small_disk(tmp_path):
    """Mount a disk of 256 KiB: enough for a checkpoint of this graph with 16 dimensions, not with 64."""
    disk = tmp_path / "disk"
    if os.name != "posix" or os.geteuid() or mount(disk, "-o", "size=256k").returncode:
        pytest.skip("only root can mount a small disk")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


def all_paths(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def error_line(done):
    """Check that a command failed with one line on standard error, and return it."""
    assert done.returncode == 2, done
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("efge: ")
    return done.stderr


# Runs a command that prints a line and waits for one after its first checkpoint, or after the first compressed bytes.
WAITING = """
import lzma, sys
from efge.cli import main
from efge.training.checkpoints import Checkpoints

def wait_after(owner, name):
    function = getattr(owner, name)

    def wait(*arguments):
        result = function(*arguments)
        print(flush=True)
        sys.stdin.readline()
        return result

    setattr(owner, name, wait)

wait_after(*{"checkpoint": (Checkpoints, "_write"), "output": (lzma.LZMAFile, "write")}[sys.argv.pop(1)])
main()
"""


def start_waiting(folder, after, *arguments):
    """Start a command that waits after its first checkpoint, or in the middle of its output; return it then."""
    waiting = [sys.executable, "-c", WAITING, after, *command(*arguments)[3:]]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen(waiting, cwd=folder, text=True, **pipes)
    assert process.stdout.readline() == "\n", process.communicate()
    return process


@pytest.mark.slow
def test_a_kill_during_the_final_write_leaves_the_old_file(workdir):
    assert run(workdir, "-o", "v.csv.xz", "--checkpoint", "checkpoints", "--every", "0s").returncode == 0
    expected = (workdir / "v.csv.xz").read_bytes()
    (workdir / "v.csv.xz").write_bytes(b"old content")
    for how in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        resume = ["-o", "v.csv.xz", "--checkpoint", "checkpoints", "--resume"]
        process = start_waiting(workdir, "output", *resume)
        assert list(workdir.glob(".v.csv.xz.*"))
        process.send_signal(how)
        process.communicate()
        assert process.returncode == (-signal.SIGKILL if how == signal.SIGKILL else 130)
        assert (workdir / "v.csv.xz").read_bytes() == b"old content"
        assert len(set(workdir.glob(".v.csv.xz.*"))) == (how == signal.SIGKILL)
    assert run(workdir, "-o", "v.csv.xz", "--checkpoint", "checkpoints", "--resume").returncode == 0
    assert (workdir / "v.csv.xz").read_bytes() == expected


def test_a_full_disk_under_the_output_is_reported_in_one_line_and_the_checkpoint_is_complete(workdir, small_disk):
    (small_disk / "v.csv").write_text("old content")
    done = run(workdir, "-o", small_disk / "v.csv", "--checkpoint", "checkpoints", "--every", "0s")
    assert error_line(done) == f"efge: {small_disk}/v.csv: No space left on device\n"
    assert all_paths(small_disk) == ["v.csv"]
    assert (small_disk / "v.csv").read_text() == "old content"
    again = run(workdir, "-o", "v.csv", "--checkpoint", "checkpoints", "--resume")
    assert again.returncode == 0
    assert run(workdir, "-o", "other.csv").returncode == 0
    assert (workdir / "v.csv").read_bytes() == (workdir / "other.csv").read_bytes()


def test_a_full_disk_under_the_checkpoints_is_reported_in_one_line_and_older_ones_stay(workdir, small_disk):
    folder = small_disk / "checkpoints"
    done = run(workdir, "-o", "v.npz", "--checkpoint", folder, "--every", "0s")
    assert "No space left on device" in error_line(done)
    assert str(folder) in done.stderr
    assert all_paths(folder) == []
    assert not (workdir / "v.npz").exists()
    # A smaller checkpoint fits once; the second one does not, and the first one stays.
    small = ["-o", "v.npz", "--checkpoint", folder, "--every", "0s", "--dim", "16"]
    (small_disk / "filler").write_bytes(bytes(256 * 1024 - 16 * 600 * 8 - 40_000))
    assert "No space left on device" in error_line(run(workdir, *small))
    assert len(all_paths(folder)) == 1
    (small_disk / "filler").unlink()
    assert run(workdir, *small, "--resume").returncode == 0
    expected = (workdir / "v.npz").read_bytes()
    assert run(workdir, "-o", "w.npz", "--dim", "16").returncode == 0
    assert (workdir / "w.npz").read_bytes() == expected


def test_a_full_disk_under_mapped_tables_is_reported_in_one_line(workdir, small_disk):
    done = run(workdir, "-o", small_disk / "v.npz", "--mmap")
    assert f"{small_disk}: cannot create a file of 348,736 bytes in the folder: No space" in error_line(done)
    assert all_paths(small_disk) == []


def test_a_full_disk_under_partitions_is_an_error_that_names_the_folder(small_disk):
    with scratch_folder(small_disk, "partitions") as folder:
        with pytest.raises(OSError, match="cannot create a file of 1,048,576 bytes in the folder: No space") as caught:
            map_file(folder / "all", 1 << 20)
        assert caught.value.filename == str(small_disk)
        with (
            closing(ArrayFile(folder / "centers")) as file,
            pytest.raises(OSError, match="cannot write to a temporary file in the folder: No space") as caught,
        ):
            file.write(np.zeros(1 << 18, np.float32), 0)
        assert caught.value.filename == str(small_disk)


@pytest.mark.parametrize("what", ["-o", "--checkpoint", "--plot"])
def test_a_read_only_disk_is_refused_before_training(workdir, small_disk, what):
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    arguments = {
        "-o": ["-o", small_disk / "v.npz"],
        "--checkpoint": ["-o", "v.npz", "--checkpoint", small_disk],
        "--plot": ["-o", "v.npz", "--plot", small_disk / "history.png"],
    }[what]
    done = run_here("embed", "graph.txt", *arguments, "--walks-per-node", "100000000", cwd=workdir)
    assert error_line(done) == f"efge: {small_disk}: no permission to write into the folder\n"


def run_and_disturb(workdir, action, *arguments):
    """Run the command, call `action` when the first checkpoint exists, and wait for the end."""
    options = ["-o", "out/v.npz", "--checkpoint", "checkpoints", "--every", "0s", *arguments]
    process = start_waiting(workdir, "checkpoint", *options)
    assert list(workdir.glob("checkpoints/checkpoint-*"))
    action()
    message = process.communicate()[1]
    return subprocess.CompletedProcess(process.args, process.returncode, "", message)


def test_a_removed_output_folder_is_reported_in_one_line_and_the_run_can_be_resumed(workdir):
    (workdir / "out").mkdir()
    done = run_and_disturb(workdir, lambda: shutil.rmtree(workdir / "out"))
    assert error_line(done) == "efge: out: no such folder\n"
    assert not (workdir / "out").exists()
    assert run(workdir, "-o", "v.npz", "--checkpoint", "checkpoints", "--resume").returncode == 0
    assert run(workdir, "-o", "w.npz").returncode == 0
    assert (workdir / "v.npz").read_bytes() == (workdir / "w.npz").read_bytes()


def test_a_removed_checkpoint_folder_is_created_again(workdir):
    (workdir / "out").mkdir()
    assert run_and_disturb(workdir, lambda: (workdir / "checkpoints").rename(workdir / "gone")).returncode == 0
    assert list(workdir.glob("checkpoints/checkpoint-*"))


def test_an_incomplete_checkpoint_left_by_a_kill_is_removed(tmp_path):
    (tmp_path / ".checkpoint-7.efge.abc.efge-tmp").write_bytes(b"incomplete")
    efge.EFGE.paper(dim=4, seed=1, walks_per_node=1).fit(GRAPH, checkpoint=tmp_path)
    assert not list(tmp_path.glob(".checkpoint-*.efge-tmp"))


@pytest.mark.parametrize("dim", [16, 20])
def test_mapped_tables_give_the_same_bytes_and_leave_no_files(tmp_path, dim):
    def model():
        return efge.EFGE.paper(dim=dim, walks_per_node=2, seed=1)

    mapped = model().fit(GRAPH, mmap=tmp_path)
    assert all_paths(tmp_path) == []
    expected = model().fit(GRAPH)
    assert mapped.embedding_ == expected.embedding_
    assert mapped.context_embedding_ == expected.context_embedding_
    assert efge.DeepWalk(dim=dim, walks_per_node=1, seed=1).fit(GRAPH, mmap=tmp_path).embedding_.dim == dim


def test_a_missing_folder_for_mapped_tables_is_named_in_the_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing"):
        efge.EFGE.paper(dim=4).fit(GRAPH, mmap=tmp_path / "missing")


@pytest.fixture
def memory_limit():
    """Return a function that limits all memory of a process, including that of mapped files."""
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
        pytest.skip("only root can limit memory by a control group")
    yield lambda: (group / "cgroup.procs").write_text(str(os.getpid()))
    # The system takes a while to notice that the last process has ended.
    while (group / "cgroup.procs").read_text():
        time.sleep(0.01)
    group.rmdir()


def is_in_memory(folder):
    """Return whether a folder's files take memory instead of disk, as far as the system tells."""
    mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    parents = {str(path): depth for depth, path in enumerate([folder, *folder.parents])}
    return min((parents[point], kind) for point, kind in mounts if point in parents)[1] in ("tmpfs", "ramfs")


@pytest.mark.slow
def test_mapped_tables_larger_than_all_memory_give_the_same_bytes(tmp_path, memory_limit):
    if is_in_memory(tmp_path):
        pytest.skip("the temporary folder is in memory, where mapped files save none; set TMPDIR to a disk")
    # Two tables of 15,000 rows of 8 KiB are 246 MB; the process may have 241 MB, its program and libraries included.
    (tmp_path / "graph.txt").write_text("".join(f"{i} {(i + 1) % 15_000}\n" for i in range(15_000)))
    work = ["--propagate", "none", "--dim", "2048", "--walks-per-node", "1", "--walk-length", "2", "--negatives", "1"]
    limited = {"cwd": tmp_path, "preexec_fn": memory_limit, "capture_output": True, "text": True, "check": False}
    done = subprocess.run(command("-o", "mapped.npz", *work, "--mmap"), **limited)
    assert done.returncode == 0, done.stderr
    assert subprocess.run(command("-o", "in-memory.npz", *work), **limited).returncode == -signal.SIGKILL
    assert not (tmp_path / "in-memory.npz").exists()
    assert run(tmp_path, "-o", "free.npz", *work).returncode == 0
    assert (tmp_path / "mapped.npz").read_bytes() == (tmp_path / "free.npz").read_bytes()


def test_training_that_needs_more_memory_than_the_limit_is_refused_with_advice(workdir):
    limited = ["-o", "v.npz", "--propagate", "none", "--walks-per-node", "1", "--memory-limit"]
    message = error_line(run(workdir, *limited, "215M", "--dim", "20000"))
    assert message.startswith("efge: this needs 5")
    assert "but the limit is 215M; try --dim " in message
    # A start from factors is computed in memory.
    assert message.endswith(", or --partitions 16\n")
    for remedy in (["--partitions", "16"], ["--init", "random", "--mmap"]):
        assert run(workdir, *limited, "215M", "--dim", "20000", *remedy).returncode == 0
    message = error_line(run(workdir, *limited, "215M", "--dim", "20000", "--init", "random"))
    assert message.endswith(", or --partitions 16, or --mmap\n")
    message = error_line(run(workdir, *limited, "215M", "--dim", "20000"))
    dim = message.partition("--dim ")[2].split(",")[0]
    assert run(workdir, *limited, "215M", "--dim", dim).returncode == 0
    assert error_line(run(workdir, *limited, "215M", "--dim", int(dim) + 500)).startswith("efge: this needs 2")
    # The matrices of a filter, with a row and a column for each dimension, are in no file.
    message = error_line(run(workdir, *limited, "300M", "--dim", "5000", "--propagate", "auto"))
    assert message.startswith("efge: this needs 1,")
    dim = int(message.partition("try --dim ")[2])
    assert run(workdir, *limited, "300M", "--dim", dim, "--propagate", "auto").returncode == 0
    message = error_line(run(workdir, *limited, "100 MiB"))
    assert "(Python and its libraries 185 MB, vectors " in message
    assert message.endswith("; Python and its libraries alone need more; raise the limit\n")
    assert "the graph alone needs more; raise the limit" in error_line(run(workdir, *limited, "185010000"))


def test_memory_estimated_from_sizes_equals_that_of_the_graph():
    graph = efge.as_graph(GRAPH)
    estimate = efge.estimate_memory(graph, efge.EFGE.paper(dim=20))
    assert estimate == efge.estimate_memory(nodes=600, edges=GRAPH.number_of_edges(), model=efge.EFGE.paper(dim=20))
    assert estimate.tables == 2 * 4 * 600 * 32
    mapped = efge.estimate_memory(graph, efge.EFGE.paper(dim=20), mmap=True)
    assert (mapped.tables, mapped.mapped, estimate.peak - mapped.peak) == (0, estimate.tables, estimate.tables)
    assert efge.estimate_memory(nodes=9, edges=10**9).peak > 30e9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"model": efge.HOPE(), "nodes": 1, "edges": 1},
            "memory can be estimated for models that learn from walks only; got HOPE",
        ),
        ({"nodes": 5}, "give a graph, or both nodes= and edges="),
        ({"nodes": 0, "edges": 1}, "nodes must be a positive integer"),
    ],
)
def test_memory_that_cannot_be_estimated_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        efge.estimate_memory(**arguments)
