"""Nothing lost: a training that is stopped, killed or damaged goes on to the same bytes, or says why it cannot."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import efge
from efge.training.checkpoints import Checkpoints, Stopped

# How often the command is killed; `EFGE_KILLS=60 pytest tests/test_checkpoints.py -k killed` takes some minutes.
KILLS = int(os.environ.get("EFGE_KILLS", "6"))
GRAPH = nx.barabasi_albert_graph(300, 3, seed=0)


def model(**changes):
    return efge.EFGE(**({"dim": 16, "walks_per_node": 40, "epochs": 2, "seed": 1, "threads": 1} | changes))


def states(folder):
    return sorted(path.name for path in Path(folder).iterdir())


class BreakOffError(Exception):
    pass


def stop_after(pieces):
    """Progress that breaks off after some pieces of work."""
    seen = 0

    def progress(at):
        nonlocal seen
        seen += 1
        if seen > pieces:
            raise BreakOffError

    return progress


@pytest.fixture(scope="module")
def whole():
    return model().fit(GRAPH)


@pytest.mark.parametrize("pieces", [1, 2, 7, 15])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_training_that_was_stopped_goes_on_to_the_same_bytes(tmp_path, whole, pieces, threads):
    with pytest.raises(BreakOffError):
        model().fit(GRAPH, checkpoint=Checkpoints(tmp_path, every=0), progress=stop_after(pieces))
    assert 1 <= len(states(tmp_path)) <= 2 if pieces > 1 else not states(tmp_path)
    resumed = model(threads=threads).fit(GRAPH, checkpoint=Checkpoints(tmp_path, resume=True))
    assert resumed.embedding_ == whole.embedding_
    assert resumed.context_embedding_ == whole.context_embedding_
    assert resumed.history_ == whole.history_


@pytest.mark.parametrize(
    "changes", [{"family": "bernoulli-poisson"}, {"patience": 2}, {"trainer": "reference", "epochs": 1}]
)
def test_any_kind_of_training_goes_on(tmp_path, changes):
    expected = model(**changes).fit(GRAPH)
    with pytest.raises(BreakOffError):
        model(**changes).fit(GRAPH, checkpoint=Checkpoints(tmp_path, every=0), progress=stop_after(5))
    resumed = model(**changes).fit(GRAPH, checkpoint=Checkpoints(tmp_path, resume=True))
    assert resumed.embedding_ == expected.embedding_
    assert resumed.history_ == expected.history_


def test_deepwalk_goes_on_too(tmp_path):
    def deepwalk():
        return efge.DeepWalk(dim=16, walks_per_node=40, seed=1)

    with pytest.raises(BreakOffError):
        deepwalk().fit(GRAPH, checkpoint=Checkpoints(tmp_path, every=0), progress=stop_after(4))
    resumed = deepwalk().fit(GRAPH, checkpoint=Checkpoints(tmp_path, resume=True))
    assert resumed.embedding_ == deepwalk().fit(GRAPH).embedding_


def test_checkpoints_change_nothing(tmp_path, whole):
    assert model().fit(GRAPH, checkpoint=Checkpoints(tmp_path, every=0)).embedding_ == whole.embedding_
    assert len(states(tmp_path)) == 2


def test_a_run_without_a_seed_goes_on_with_the_one_it_took(tmp_path):
    with pytest.raises(BreakOffError):
        model(seed=None).fit(GRAPH, checkpoint=Checkpoints(tmp_path, every=0), progress=stop_after(5))
    resumed = model(seed=None).fit(GRAPH, checkpoint=Checkpoints(tmp_path, resume=True))
    assert resumed.embedding_ == model(seed=resumed.seed_).fit(GRAPH).embedding_


def test_resuming_without_a_state_begins_afresh(tmp_path, whole):
    resumed = model().fit(GRAPH, checkpoint=Checkpoints(tmp_path / "new", resume=True))
    assert resumed.embedding_ == whole.embedding_


def stopped(folder, **changes):
    with pytest.raises(BreakOffError):
        model(**changes).fit(GRAPH, checkpoint=Checkpoints(folder, every=0), progress=stop_after(5))


@pytest.mark.parametrize(
    ("changes", "graph", "message"),
    [
        ({"dim": 8}, GRAPH, "dim 16, not 8"),
        ({"seed": 2}, GRAPH, "seed 1, not 2"),
        ({"family": "poisson"}, GRAPH, r"family 'Normal\(sigma=1.0\)', not 'Poisson\(\)'"),
        ({"walks_per_node": 41}, GRAPH, "walks_per_node 40, not 41"),
        ({"learning_rate": 0.02}, GRAPH, "learning_rate 0.025, not 0.02"),
        ({}, nx.path_graph(300), "graph '"),
    ],
)
def test_the_state_of_another_run_is_refused_with_what_differs(tmp_path, changes, graph, message):
    stopped(tmp_path)
    before = states(tmp_path)
    with pytest.raises(efge.CheckpointError, match=message):
        model(**changes).fit(graph, checkpoint=Checkpoints(tmp_path, resume=True))
    assert states(tmp_path) == before


def test_the_state_of_another_version_is_refused(tmp_path, monkeypatch):
    stopped(tmp_path)
    monkeypatch.setattr("efge.training.checkpoints.__version__", "9.9.9")
    with pytest.raises(efge.CheckpointError, match=f"version '{efge.__version__}', not '9.9.9'"):
        model().fit(GRAPH, checkpoint=Checkpoints(tmp_path, resume=True))


def test_a_folder_that_holds_a_state_is_not_overwritten(tmp_path):
    stopped(tmp_path)
    with pytest.raises(
        efge.CheckpointError, match=r"resume it \(--resume .*resume=True\) in Python\), or name another folder"
    ):
        model().fit(GRAPH, checkpoint=tmp_path)


def damage(path, kind):
    data = bytearray(path.read_bytes())
    if kind == "flipped":
        data[len(data) // 2] ^= 1
    elif kind == "cut":
        del data[-100:]
    elif kind == "empty":
        data.clear()
    elif kind == "heading":
        data[5] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("kind", ["flipped", "cut", "empty", "heading"])
def test_a_damaged_state_falls_back_to_the_one_before_with_a_warning(tmp_path, whole, kind):
    stopped(tmp_path)
    newest = max(tmp_path.iterdir(), key=lambda path: int(path.stem.split("-")[1]))
    damage(newest, kind)
    with pytest.warns(RuntimeWarning, match="the state is damaged.*going on from the one before"):
        resumed = model().fit(GRAPH, checkpoint=Checkpoints(tmp_path, resume=True))
    assert resumed.embedding_ == whole.embedding_


def test_if_all_states_are_damaged_training_begins_afresh(tmp_path, whole):
    stopped(tmp_path)
    for path in tmp_path.iterdir():
        damage(path, "flipped")
    with pytest.warns(RuntimeWarning, match="damaged"):
        resumed = model().fit(GRAPH, checkpoint=Checkpoints(tmp_path, resume=True))
    assert resumed.embedding_ == whole.embedding_


def test_a_heading_that_claims_anything_is_refused(tmp_path):
    stopped(tmp_path)
    for path in tmp_path.iterdir():
        path.write_bytes(b'efge checkpoint 1\n{"identity": 1, "state": {"pieces": 1000000000000}}\n' + bytes(32))
    with pytest.warns(RuntimeWarning, match="damaged"):
        model(walks_per_node=1).fit(GRAPH, checkpoint=Checkpoints(tmp_path, resume=True))


def test_saving_takes_little_of_the_time(tmp_path, monkeypatch):
    kept = Checkpoints(tmp_path, every=1)
    model().fit(GRAPH, checkpoint=kept)
    kept._took = 3.0
    kept._last = time.monotonic() - 100
    written = states(tmp_path)
    kept.keep(efge.checkpoints.State(10**6), (np.zeros((2, 2), np.float32),))
    assert states(tmp_path) == written


def test_a_folder_that_cannot_be_written_is_an_error_that_names_it(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        model().fit(GRAPH, checkpoint=tmp_path / "file" / "states")


def test_a_signal_saves_first(tmp_path, whole):
    before = signal.getsignal(signal.SIGTERM)

    def progress(at):
        if at.pairs > at.total / 3:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Stopped):
        model().fit(GRAPH, checkpoint=tmp_path, progress=progress)
    assert len(states(tmp_path)) == 1
    resumed = model().fit(GRAPH, checkpoint=Checkpoints(tmp_path, resume=True))
    assert resumed.embedding_ == whole.embedding_
    assert signal.getsignal(signal.SIGTERM) == before


def embed(folder, *more):
    arguments = ["embed", "graph.txt", "-o", "v.npz", "--seed", "1", "--dim", "32", "--quiet"]
    kept = ["--checkpoint", "states", "--resume", "--every", "0s"]
    return [sys.executable, "-m", "efge", *arguments, *kept, *more]


@pytest.fixture
def workplace(tmp_path):
    edges = nx.barabasi_albert_graph(1500, 4, seed=1).edges
    (tmp_path / "graph.txt").write_text("".join(f"{u} {v}\n" for u, v in edges))
    return tmp_path


def newest(workplace):
    return max((int(path.stem.split("-")[1]) for path in workplace.glob("states/state-*.efge")), default=0)


def test_a_command_that_is_killed_again_and_again_ends_with_the_same_bytes(workplace):
    subprocess.run(embed(workplace), cwd=workplace, check=True)
    expected = (workplace / "v.npz").read_bytes()
    shutil.rmtree(workplace / "states")
    (workplace / "v.npz").unlink()
    chance = random.Random(0)
    kills = 0
    while kills < KILLS:
        how = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT][kills % 4]
        before = newest(workplace)
        threads = str(1 + kills % 2)
        process = subprocess.Popen(embed(workplace, "--threads", threads), cwd=workplace, stderr=subprocess.PIPE)
        # Until it has got on a little, then a random while longer: in training, while saving, or in the final write.
        while process.poll() is None and newest(workplace) <= before:
            time.sleep(0.001)
        time.sleep(chance.random() * 0.1)
        process.send_signal(how)
        _, message = process.communicate()
        kills += 1
        assert not (workplace / "v.npz").exists() or (workplace / "v.npz").read_bytes() == expected
        assert message.count(b"\n") == (1 if process.returncode in (130, 143) else 0), message
        if process.returncode == 0:
            # It was done before the signal came: another round, from the start.
            shutil.rmtree(workplace / "states")
            (workplace / "v.npz").unlink()
    subprocess.run(embed(workplace), cwd=workplace, check=True)
    assert (workplace / "v.npz").read_bytes() == expected
    # What a kill leaves of a file that was being written is none of the files that count.
    assert {path.suffix for path in workplace.iterdir() if not path.name.startswith(".")} <= {
        ".txt",
        ".npz",
        ".json",
        "",
    }


def test_the_command_says_how_to_go_on(workplace):
    process = subprocess.Popen(embed(workplace), cwd=workplace, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list(workplace.glob("states/*.efge")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    message = process.communicate()[1]
    assert (process.returncode, message) == (130, "efge: stopped; the state is kept in states, and --resume goes on\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--resume"], "resuming needs the folder of the state"),
        (["--checkpoint", "states", "-m", "hope"], "--checkpoint is for models that learn from walks; HOPE does not"),
        (["--checkpoint", "states", "--every", "soon"], "a time is a number of s, min or h, as 30s; got 'soon'"),
    ],
)
def test_options_that_make_no_sense_are_refused(workplace, arguments, message):
    command = [sys.executable, "-m", "efge", "embed", "graph.txt", "-o", "v.npz", *arguments]
    done = subprocess.run(command, cwd=workplace, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"efge: {message}")


def test_all_of_a_state_comes_back(tmp_path):
    saved, identity = efge.checkpoints.State(3, {"pairs": [0, 9], "log_likelihood": [-4.0, -2.5]}, 2, -1.5), {"seed": 1}
    table = np.random.default_rng(0).random((5, 3)).astype(np.float32)
    first = Checkpoints(tmp_path, every=0)
    first.begin(identity, (np.empty_like(table),))
    first.keep(saved, (table,))
    again, other = Checkpoints(tmp_path, resume=True), np.zeros_like(table)
    assert again.begin(identity, (other,)) == saved
    assert other.tolist() == table.tolist()
