"""Another process may compile the training kernel; whatever happens to it, the result is the same."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import weakref
from pathlib import Path

import networkx as nx
import pytest
from numba import typeof

import efge
from efge.kernels import sgd
from efge.system import start_python
from efge.training import compilation

CLUB = nx.karate_club_graph()
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(efge.__file__).parents[1])}

# Compiles the smallest kernel, after waiting for another process that runs the code in {}.
WAITING = """
import subprocess, sys
import numpy as np
from efge.kernels import caching, csr

def call():
    counts = np.zeros(3, np.int64)
    csr.count_rows(np.array([0, 2, 2], np.int32), 0, 3, counts)
    return counts.tolist()

if __name__ == "__main__":
    caching.expect_from_elsewhere(csr.count_rows, lambda: subprocess.run([sys.executable, "-c", {!r}]))
    print(caching.can_compile_elsewhere(csr.count_rows))
    print(call(), sum(csr.count_rows.stats.cache_hits.values()))
    print(caching.can_compile_elsewhere(csr.count_rows))
"""


@pytest.mark.parametrize("model", [efge.EFGE, efge.DeepWalk, efge.Node2Vec, efge.LINE])
def test_what_is_compiled_ahead_is_what_models_call(model):
    model(dim=4, seed=0).fit(CLUB)
    assert tuple(map(typeof, compilation._arguments())) in sgd.train.overloads


@pytest.mark.parametrize(("code", "hits"), [("import waiting; waiting.call()", 1), ("", 0)])
def test_a_kernel_is_loaded_if_another_process_has_compiled_it_and_else_compiled(tmp_path, code, hits):
    (tmp_path / "waiting.py").write_text(WAITING.format(code))
    environment = ENVIRONMENT | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "waiting.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"True\n[1, 0, 2] {hits}\nFalse\n", "")


@pytest.mark.parametrize(
    ("name", "value", "starts"),
    [
        ("available_threads", lambda: 2, True),
        ("available_threads", lambda: 1, False),
        ("available_memory", lambda: 2**30 - 1, False),
        ("available_memory", lambda: 2**30, True),
        ("available_memory", lambda: None, True),
        ("can_compile_elsewhere", lambda kernel: False, False),
    ],
)
def test_another_process_compiles_if_it_saves_time(monkeypatch, name, value, starts):
    started = []
    always = {"available_threads": lambda: 2, "available_memory": lambda: 10**10}
    always |= {"can_compile_elsewhere": lambda kernel: True, "start_python": lambda *a, **k: started.append(a)}
    for function, replacement in (always | {name: value}).items():
        monkeypatch.setattr(compilation, function, replacement)
    compilation.compile_ahead()
    assert bool(started) == starts


def test_a_process_that_cannot_start_is_none(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert start_python("pass") is None
    monkeypatch.setattr(sys, "executable", None)
    assert start_python("pass") is None


def test_modules_of_the_current_folder_are_not_imported(tmp_path, monkeypatch):
    (tmp_path / "efge.py").write_text("open('imported', 'w')")
    monkeypatch.chdir(tmp_path)
    process = start_python(compilation._CODE, str(tmp_path / "missing"))
    assert process.wait() == 1
    assert not (tmp_path / "imported").exists()


def test_a_process_that_takes_too_long_is_stopped(monkeypatch):
    monkeypatch.setattr(compilation, "_MAX_SECONDS", 0.1)
    process = start_python("import time; time.sleep(60)")
    other = start_python("import time; time.sleep(60)")
    atexit.register(compilation._stop, other)
    kept = weakref.ref(other)
    del other
    compilation._wait(process)
    assert process.returncode
    # The other one is still to be stopped when this process ends.
    compilation._stop(kept())


INTERRUPTED = """
from efge.training import compilation
start = compilation.start_python
def remember(*arguments, **variables):
    process = start("import time; time.sleep(3600)")
    print(process.pid, flush=True)
    return process
compilation.start_python, compilation.available_threads = remember, lambda: 2
compilation.available_memory = lambda: None
compilation.compile_ahead()
raise KeyboardInterrupt
"""


@pytest.mark.skipif(os.name != "posix", reason="asks for a process by its number")
def test_no_process_is_left_after_an_interrupt(tmp_path):
    environment = ENVIRONMENT | {"NUMBA_CACHE_DIR": str(tmp_path)}
    # If the other process were waited for, this test would exceed its time limit.
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], env=environment, capture_output=True, text=True)
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


@pytest.mark.slow
@pytest.mark.parametrize("fate", ["is killed", "ends"])
def test_a_first_run_gives_the_same_vectors_if_the_other_process(tmp_path, fate):
    nx.write_edgelist(CLUB, tmp_path / "club.txt", data=False)
    kill = "start = c.start_python\nc.start_python = lambda *a, **v: (p := start(*a, **v), p and p.kill())[0]\n"
    code = f"import efge.training.compilation as c\n{kill * (fate == 'is killed')}from efge.cli import main\nmain()"
    command = [sys.executable, "-c", code, "embed", "club.txt", "-o", "v.npz", "--seed", "1"]
    environment = ENVIRONMENT | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = efge.EFGE(seed=1).fit(efge.read_graph(tmp_path / "club.txt")).embedding_
    assert efge.Embedding.load(tmp_path / "v.npz").vectors.tobytes() == expected.vectors.tobytes()
    assert len(list((tmp_path / "cache").rglob("sgd.train-*.nbc"))) == 1
