"""Concurrent use: writers of one file, runs in one folder, fits in threads and processes, shared caches."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import joblib
import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone

import efge
from efge.io.atomic import atomic_write
from efge.io.scratch import lock_folder
from efge.training.checkpoints import Checkpoints
from helpers import run

GRAPH = efge.as_graph(nx.barabasi_albert_graph(200, 3, seed=0))
MODELS = [
    efge.EFGE("bernoulli", dim=8, walks_per_node=4, seed=1, threads=2),
    efge.EFGE("poisson", dim=8, walks_per_node=4, seed=2, threads=2, p=0.5, q=2.0),
    efge.DeepWalk(dim=8, walks_per_node=4, seed=3, threads=2),
    efge.LINE(dim=8, samples=4000, seed=4, threads=2),
    efge.BigClam(3, n_init=2, seed=5, threads=2),
]
ENVIRONMENT = os.environ | {"PYTHONWARNINGS": "error"}


def fit_to_bytes(model):
    """Fit a copy of a model and return the bytes of its vectors; defined here so that processes can import it."""
    return clone(model).fit(GRAPH).embedding_.vectors.tobytes()


@pytest.fixture(scope="module")
def expected():
    return [fit_to_bytes(model) for model in MODELS]


# Files ----------------------------------------------------------------------------------------------------------------


def write_content(path, content):
    with atomic_write(path) as stream:
        for begin in range(0, len(content), 1 << 16):
            stream.write(content[begin : begin + (1 << 16)])


def write_until(ended, path, content):
    while not ended.is_set():
        write_content(path, content)


def test_a_file_with_two_writers_always_has_the_complete_content_of_one(tmp_path):
    path, contents = tmp_path / "both", [b"a" * 300_000, b"b" * 500_000]
    write_content(path, contents[0])
    context = multiprocessing.get_context("fork")
    ended = context.Event()
    writers = [context.Process(target=write_until, args=(ended, path, content)) for content in contents]
    for writer in writers:
        writer.start()
    try:
        # On a busy machine, a writer may have to wait long for its turn.
        seen = []
        while len(seen) < 1000 or len(set(seen)) < 2:
            data = path.read_bytes()
            assert data in contents
            seen.append(data[:1])
    finally:
        ended.set()
        for writer in writers:
            writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert [entry.name for entry in tmp_path.iterdir()] == ["both"]


def embed(folder, *arguments):
    command = [sys.executable, "-m", "efge", "embed", "graph.txt", "-o", "v.npz", "--dim", "8", "--force", *arguments]
    return subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "graph.txt").write_text(
        "".join(f"{u} {v}\n" for u, v in nx.connected_watts_strogatz_graph(200, 6, 0.1, seed=0).edges)
    )
    return tmp_path


def test_two_commands_with_one_output_leave_the_result_of_one(folder):
    runs = [embed(folder, "--seed", seed, "--walks-per-node", "4", "--quiet") for seed in "12"]
    assert [(process.communicate()[1], process.returncode) for process in runs] == [("", 0)] * 2
    results = [efge.EFGE(dim=8, seed=seed, walks_per_node=4).fit(folder / "graph.txt").embedding_ for seed in (1, 2)]
    assert efge.Embedding.load(folder / "v.npz") in results
    assert '"seed": ' in (folder / "v.npz.json").read_text()
    assert sorted(entry.name for entry in folder.iterdir()) == ["graph.txt", "v.npz", "v.npz.json"]


# Checkpoints ----------------------------------------------------------------------------------------------------------


def test_a_checkpoint_folder_is_used_by_one_run_at_a_time(tmp_path, expected):
    def start_second_run(report):
        for resume in (False, True):
            with pytest.raises(efge.CheckpointError, match="is in use by another run; wait until it ends, or name"):
                clone(MODELS[0]).fit(GRAPH, checkpoint=Checkpoints(tmp_path, resume=resume))

    first = clone(MODELS[0]).fit(GRAPH, checkpoint=Checkpoints(tmp_path, every=0), progress=start_second_run)
    assert first.embedding_.vectors.tobytes() == expected[0]
    again = clone(MODELS[0]).fit(GRAPH, checkpoint=Checkpoints(tmp_path, resume=True))
    assert again.embedding_.vectors.tobytes() == expected[0]
    assert all(path.suffix == ".efge" for path in tmp_path.iterdir())


def test_an_error_releases_the_lock_of_the_folder(tmp_path):
    def stop(report):
        raise RuntimeError("stop here")

    with pytest.raises(RuntimeError, match="stop here"):
        clone(MODELS[0]).fit(GRAPH, checkpoint=tmp_path, progress=stop)
    with lock_folder(tmp_path) as free:
        assert free


def hold_lock(folder, ready):
    with lock_folder(folder) as free:
        ready.put(free)
        time.sleep(600)


def test_a_command_is_refused_while_another_run_holds_the_folder_but_not_after_that_was_killed(folder):
    context = multiprocessing.get_context("fork")
    ready = context.Queue()
    (folder / "checkpoints").mkdir()
    other = context.Process(target=hold_lock, args=(folder / "checkpoints", ready))
    other.start()
    assert ready.get()
    command = [
        "embed",
        "graph.txt",
        "-o",
        "v.npz",
        "--dim",
        "8",
        "--walks-per-node",
        "4",
        "--checkpoint",
        "checkpoints",
        "--force",
    ]
    done = run(*command, "--every", "0s", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "efge: checkpoints is in use by another run; wait until it ends, or name another folder\n"
    other.kill()
    other.join()
    assert run(*command, "--every", "0s", cwd=folder).returncode == 0
    again = run(*command, cwd=folder)
    assert again.returncode == 2
    assert (
        "contains checkpoints of an earlier run; resume it (--resume on the command line, Checkpoints(" in again.stderr
    )


# Threads and processes ------------------------------------------------------------------------------------------------


def test_concurrent_fits_in_threads_give_the_same_bytes(expected):
    with ThreadPoolExecutor(len(MODELS)) as pool:
        for _ in range(2):
            assert list(pool.map(fit_to_bytes, MODELS)) == expected


def test_threads_can_share_a_graph_and_an_embedding(expected):
    # Cached properties are computed on first use, here by all threads at once.
    for _ in range(5):
        graph = efge.as_graph(nx.barabasi_albert_graph(200, 3, seed=0))
        embedding = efge.Embedding(np.frombuffer(expected[0], np.float32).reshape(-1, 8), graph.names)
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(_query, [graph] * 8, [embedding] * 8))
        assert len({str(result) for result in results}) == 1


def _query(graph, embedding):
    return graph.n_components, graph.rows([7]).tolist(), embedding.neighbors(7)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_give_the_same_bytes(expected, method):
    """Also forked processes of a parent that has trained with threads, as the fixture has."""
    models = MODELS if method == "fork" else MODELS[:1]
    with ProcessPoolExecutor(len(models), mp_context=multiprocessing.get_context(method)) as pool:
        assert list(pool.map(fit_to_bytes, models)) == expected[: len(models)]


def test_joblib_gives_the_same_bytes(expected):
    vectors = joblib.Parallel(2)(joblib.delayed(_fitted_vectors)(clone(model), GRAPH) for model in MODELS[:2])
    assert [matrix.tobytes() for matrix in vectors] == expected[:2]


def _fitted_vectors(model, graph):
    return model.fit(graph).embedding_.vectors


# Caches ---------------------------------------------------------------------------------------------------------------

# The smallest kernel: it compiles in less than a second.
SMALLEST = """
import numpy as np
from efge.kernels import csr
counts = np.zeros(3, np.int64)
csr.count_rows(np.array([0, 2, 2], np.int32), 0, 3, counts)
print(counts.tolist(), sum(csr.count_rows.stats.cache_hits.values()))
"""


def count_rows(cache, **more):
    environment = ENVIRONMENT | {"NUMBA_CACHE_DIR": str(cache)} | more
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", SMALLEST], env=environment, **pipes)


def test_processes_that_fill_one_empty_cache_do_not_disturb_each_other(tmp_path):
    processes = [count_rows(tmp_path / "cache") for _ in range(3)]
    for process in processes:
        out, err = process.communicate()
        assert (out[:9], err, process.returncode) == ("[1, 0, 2]", "", 0)
    assert count_rows(tmp_path / "cache").communicate() == ("[1, 0, 2] 1\n", "")


def test_compilation_is_announced_and_loading_from_the_cache_is_not(tmp_path):
    listen = "from efge.kernels.caching import before_compilation\nbefore_compilation.append(lambda: print('now'))\n"
    environment = ENVIRONMENT | {"NUMBA_CACHE_DIR": str(tmp_path)}
    outputs = [
        subprocess.run(
            [sys.executable, "-c", listen + SMALLEST], env=environment, capture_output=True, text=True
        ).stdout
        for _ in range(2)
    ]
    assert outputs == ["now\n[1, 0, 2] 0\n", "[1, 0, 2] 1\n"]


@pytest.mark.parametrize("cache", ["file/cache", "/proc/efge", "not/yet/there"])
def test_a_cache_that_cannot_be_written_only_costs_compilation(tmp_path, cache):
    (tmp_path / "file").write_text("")
    # The folder of the sources cannot hold the cache either: it is a copy, with a file where the cache would be.
    source = Path(efge.__file__).parent
    kernels = ("kernels/__init__.py", "kernels/caching.py", "kernels/common.py", "kernels/csr.py")
    for name in ("__init__.py", "__init__.pyi", *kernels):
        (tmp_path / "efge" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "efge" / name).write_bytes((source / name).read_bytes())
    (tmp_path / "efge" / "kernels" / "__pycache__").write_text("")
    missing = str(tmp_path / "file" / "home")
    homes = {"HOME": missing, "XDG_CACHE_HOME": missing, "PYTHONPATH": str(tmp_path), "TMPDIR": str(tmp_path)}
    done = count_rows(tmp_path / cache, **homes)
    assert done.communicate() == ("[1, 0, 2] 0\n", "")
    assert not list(tmp_path.glob("efge-*")), "a cache for one process is removed at its end"
