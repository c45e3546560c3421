"""Training that was stopped, killed or damaged resumes to the same bytes, or says why it cannot."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

import efge
from efge.training.checkpoints import Checkpoints, TrainingInterrupt, TrainingState, _is_valid
from helpers import assert_fails, run

# How often the command is killed; `EFGE_KILLS=60 pytest tests/training/test_checkpoints.py -k killed` takes minutes.
KILLS = int(os.environ.get("EFGE_KILLS", "6"))
GRAPH = nx.barabasi_albert_graph(300, 3, seed=0)


def model(**changes):
    return efge.EFGE.paper(**({"dim": 16, "walks_per_node": 40, "epochs": 2, "seed": 1, "threads": 1} | changes))


def files(folder):
    return sorted(path.name for path in Path(folder).iterdir())


class StopTraining(Exception):  # noqa: N818
    pass


def stop_after(chunks):
    """Return a progress callback that stops training after some chunks of work."""
    reports = 0

    def progress(report):
        nonlocal reports
        reports += 1
        if reports > chunks:
            raise StopTraining

    return progress


@pytest.fixture(scope="module")
def uninterrupted():
    return model().fit(GRAPH)


@pytest.mark.parametrize("chunks", [1, 2, 7, 15])
@pytest.mark.parametrize("threads", [1, 2])
def test_stopped_training_resumes_to_the_same_bytes(tmp_path, uninterrupted, chunks, threads):
    with pytest.raises(StopTraining):
        model().fit(GRAPH, checkpoint=Checkpoints(tmp_path, every=0), progress=stop_after(chunks))
    assert len(files(tmp_path)) == min(chunks - 1, 2)
    resumed = model(threads=threads).fit(GRAPH, checkpoint=Checkpoints(tmp_path, resume=True))
    assert resumed.embedding_ == uninterrupted.embedding_
    assert resumed.context_embedding_ == uninterrupted.context_embedding_
    assert resumed.history_ == uninterrupted.history_


@pytest.mark.parametrize(
    "changes", [{"family": "bernoulli-poisson"}, {"patience": 2}, {"trainer": "reference", "epochs": 1}]
)
def test_every_kind_of_training_can_be_resumed(tmp_path, changes):
    expected = model(**changes).fit(GRAPH)
    with pytest.raises(StopTraining):
        model(**changes).fit(GRAPH, checkpoint=Checkpoints(tmp_path, every=0), progress=stop_after(5))
    resumed = model(**changes).fit(GRAPH, checkpoint=Checkpoints(tmp_path, resume=True))
    assert resumed.embedding_ == expected.embedding_
    assert resumed.history_ == expected.history_


def test_deepwalk_can_be_resumed(tmp_path):
    def deepwalk():
        return efge.DeepWalk(dim=16, walks_per_node=40, seed=1)

    with pytest.raises(StopTraining):
        deepwalk().fit(GRAPH, checkpoint=Checkpoints(tmp_path, every=0), progress=stop_after(4))
    resumed = deepwalk().fit(GRAPH, checkpoint=Checkpoints(tmp_path, resume=True))
    assert resumed.embedding_ == deepwalk().fit(GRAPH).embedding_


def test_saving_checkpoints_does_not_change_the_result(tmp_path, uninterrupted):
    assert model().fit(GRAPH, checkpoint=Checkpoints(tmp_path, every=0)).embedding_ == uninterrupted.embedding_
    assert len(files(tmp_path)) == 2


def test_a_run_without_a_seed_resumes_with_the_seed_it_had_chosen(tmp_path):
    with pytest.raises(StopTraining):
        model(seed=None).fit(GRAPH, checkpoint=Checkpoints(tmp_path, every=0), progress=stop_after(5))
    resumed = model(seed=None).fit(GRAPH, checkpoint=Checkpoints(tmp_path, resume=True))
    assert resumed.embedding_ == model(seed=resumed.seed_).fit(GRAPH).embedding_


def test_resuming_without_a_checkpoint_starts_from_the_beginning(tmp_path, uninterrupted):
    resumed = model().fit(GRAPH, checkpoint=Checkpoints(tmp_path / "new", resume=True))
    assert resumed.embedding_ == uninterrupted.embedding_


def stop_training(folder, **changes):
    with pytest.raises(StopTraining):
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
def test_a_checkpoint_of_another_run_is_refused_with_the_differences(tmp_path, changes, graph, message):
    stop_training(tmp_path)
    before = files(tmp_path)
    with pytest.raises(efge.CheckpointError, match=message):
        model(**changes).fit(graph, checkpoint=Checkpoints(tmp_path, resume=True))
    assert files(tmp_path) == before


def test_a_checkpoint_of_another_version_is_refused(tmp_path, monkeypatch):
    stop_training(tmp_path)
    monkeypatch.setattr("efge.training.checkpoints.__version__", "9.9.9")
    with pytest.raises(efge.CheckpointError, match=f"version '{efge.__version__}', not '9.9.9'"):
        model().fit(GRAPH, checkpoint=Checkpoints(tmp_path, resume=True))


def test_a_folder_that_contains_checkpoints_is_not_overwritten(tmp_path):
    stop_training(tmp_path)
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
    elif kind == "magic":
        data[5] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("kind", ["flipped", "cut", "empty", "magic"])
def test_a_damaged_checkpoint_falls_back_to_the_one_before_with_a_warning(tmp_path, uninterrupted, kind):
    stop_training(tmp_path)
    newest = max(tmp_path.iterdir(), key=lambda path: int(path.stem.split("-")[1]))
    damage(newest, kind)
    with pytest.warns(RuntimeWarning, match="the checkpoint is damaged.*trying the checkpoint before it"):
        resumed = model().fit(GRAPH, checkpoint=Checkpoints(tmp_path, resume=True))
    assert resumed.embedding_ == uninterrupted.embedding_


def test_if_all_checkpoints_are_damaged_training_starts_from_the_beginning(tmp_path, uninterrupted):
    stop_training(tmp_path)
    for path in tmp_path.iterdir():
        damage(path, "flipped")
    with pytest.warns(RuntimeWarning, match="damaged"):
        resumed = model().fit(GRAPH, checkpoint=Checkpoints(tmp_path, resume=True))
    assert resumed.embedding_ == uninterrupted.embedding_


def test_a_header_with_invented_values_is_refused(tmp_path):
    stop_training(tmp_path)
    for path in tmp_path.iterdir():
        content = b'efge checkpoint 3\n{"run_identity": 1, "state": {"chunks_done": 1000000000000}}\n'
        path.write_bytes(content + hashlib.sha256(content).digest())
    with pytest.warns(RuntimeWarning, match="the checkpoint is damaged: its header cannot be read"):
        resumed = model(walks_per_node=1).fit(GRAPH, checkpoint=Checkpoints(tmp_path, resume=True))
    assert resumed.embedding_ == model(walks_per_node=1).fit(GRAPH).embedding_


@pytest.mark.parametrize(
    ("every", "seconds_ago", "saved"),
    [(1, 199.9, False), (1, 200.1, True), (300, 299.9, False), (300, 300.1, True), (0, 0.0, True)],
)
def test_slow_saves_are_made_less_often(tmp_path, monkeypatch, every, seconds_ago, saved):
    """A save of 3 seconds may be repeated after 200 seconds, unless one is asked for after each chunk of work."""
    checkpoints = Checkpoints(tmp_path, every=every)
    checkpoints._save_seconds, checkpoints._last_save = 3.0, 1000.0
    clock = iter([1000 + seconds_ago, 1005 + seconds_ago])
    monkeypatch.setattr("efge.training.checkpoints.time", SimpleNamespace(monotonic=lambda: next(clock)))
    checkpoints.save_if_due(TrainingState(10**6), (np.zeros((2, 2), np.float32),))
    assert files(tmp_path) == ["checkpoint-1000000.efge"] * saved
    # The next interval begins at the end of this save, and depends on how long it took.
    assert (checkpoints._last_save, checkpoints._save_seconds) == ((1005 + seconds_ago, 5.0) if saved else (1000, 3.0))


def test_an_old_checkpoint_that_somebody_else_deletes_first_is_no_error(tmp_path, monkeypatch):
    checkpoints = Checkpoints(tmp_path, every=1)
    found = checkpoints._paths
    monkeypatch.setattr(checkpoints, "_paths", lambda: [*found(), *(tmp_path / f"deleted-{i}" for i in range(9))])
    checkpoints._last_save = time.monotonic() - 1000
    checkpoints.save_if_due(TrainingState(10**6), (np.zeros((2, 2), np.float32),))
    assert files(tmp_path) == ["checkpoint-1000000.efge"]


def test_a_folder_that_cannot_be_written_is_an_error_that_names_it(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        model().fit(GRAPH, checkpoint=tmp_path / "file" / "checkpoints")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_saves_a_checkpoint_before_training_stops(tmp_path, uninterrupted, number):
    before = signal.getsignal(number)

    def progress(report):
        if report.pairs > report.total / 3:
            os.kill(os.getpid(), number)

    with pytest.raises(TrainingInterrupt):
        model().fit(GRAPH, checkpoint=tmp_path, progress=progress)
    assert len(files(tmp_path)) == 1
    resumed = model().fit(GRAPH, checkpoint=Checkpoints(tmp_path, resume=True))
    assert resumed.embedding_ == uninterrupted.embedding_
    assert signal.getsignal(number) == before


def test_a_checkpoint_of_another_processor_is_resumed_with_a_warning(tmp_path, uninterrupted, monkeypatch):
    stop_training(tmp_path)
    monkeypatch.setattr("efge.training.checkpoints.cpu_features", lambda: "generic sse2")
    with pytest.warns(RuntimeWarning, match="made on a processor with other features; .* differ in the last bits"):
        resumed = model().fit(GRAPH, checkpoint=Checkpoints(tmp_path, resume=True))
    assert resumed.embedding_ == uninterrupted.embedding_


def test_a_new_checkpoint_folder_is_for_its_user_alone(tmp_path):
    Checkpoints(tmp_path / "new").prepare()
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def embed(folder, *more):
    arguments = ["embed", "graph.txt", "-o", "v.npz", "--seed", "1", "--dim", "32", "--quiet", "--force"]
    resume = ["--checkpoint", "checkpoints", "--resume", "--every", "0s"]
    return [sys.executable, "-m", "efge", *arguments, *resume, *more]


@pytest.fixture
def workdir(tmp_path):
    edges = nx.barabasi_albert_graph(1500, 4, seed=1).edges
    (tmp_path / "graph.txt").write_text("".join(f"{u} {v}\n" for u, v in edges))
    return tmp_path


def newest(workdir):
    return max((int(path.stem.split("-")[1]) for path in workdir.glob("checkpoints/checkpoint-*.efge")), default=0)


@pytest.mark.slow
def test_a_command_killed_again_and_again_ends_with_the_same_bytes(workdir):
    subprocess.run(embed(workdir), cwd=workdir, check=True)
    expected = (workdir / "v.npz").read_bytes()
    shutil.rmtree(workdir / "checkpoints")
    (workdir / "v.npz").unlink()
    chance = random.Random(0)
    kills = 0
    while kills < KILLS:
        how = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT][kills % 4]
        before = newest(workdir)
        threads = str(1 + kills % 2)
        process = subprocess.Popen(embed(workdir, "--threads", threads), cwd=workdir, stderr=subprocess.PIPE)
        # Wait for a new checkpoint, then a random time longer: in training, while saving, or in the final write.
        while process.poll() is None and newest(workdir) <= before:
            time.sleep(0.001)
        time.sleep(chance.random() * 0.1)
        process.send_signal(how)
        _, message = process.communicate()
        kills += 1
        assert not (workdir / "v.npz").exists() or (workdir / "v.npz").read_bytes() == expected
        # The interpreter ends by the signal if the interrupt passed through generated code; a shell shows 130, too.
        is_stopped = process.returncode in (130, -signal.SIGINT)
        assert message.count(b"\n") == is_stopped, message
        if process.returncode == 0:
            # It ended before the signal came: start again from the beginning.
            shutil.rmtree(workdir / "checkpoints")
            (workdir / "v.npz").unlink()
    subprocess.run(embed(workdir), cwd=workdir, check=True)
    assert (workdir / "v.npz").read_bytes() == expected
    # A file that was being written when the process was killed has a hidden temporary name.
    assert {path.suffix for path in workdir.iterdir() if not path.name.startswith(".")} <= {
        ".txt",
        ".npz",
        ".json",
        "",
    }


def test_the_interrupted_command_says_how_to_resume(workdir):
    long = embed(workdir, "--walks-per-node", "1000")
    process = subprocess.Popen(long, cwd=workdir, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not list(workdir.glob("checkpoints/*.efge")):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    message = process.communicate()[1]
    assert (process.returncode, message) == (
        130,
        "efge: stopped; checkpoints are in checkpoints; add --resume to continue\n",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--resume"], "--resume needs the folder of the checkpoints; add --checkpoint FOLDER"),
        (
            ["--checkpoint", "checkpoints", "-m", "hope"],
            "--checkpoint is for models that learn from walks; HOPE does not",
        ),
        (
            ["--checkpoint", "checkpoints", "--every", "soon"],
            "a time is a number followed by s, min or h, such as 30s; got 'soon'",
        ),
    ],
)
def test_invalid_options_are_refused(workdir, arguments, message):
    assert_fails(run("embed", "graph.txt", "-o", "v.npz", *arguments, cwd=workdir), message)


def test_a_checkpoint_restores_state_and_tables(tmp_path):
    saved, identity = TrainingState(3, {"pairs": [0, 9], "log_likelihood": [-4.0, -2.5]}, 2, -1.5), {"seed": 1}
    table = np.random.default_rng(0).random((5, 3)).astype(np.float32)
    first = Checkpoints(tmp_path, every=0)
    first.restore(identity, (np.empty_like(table),))
    first.save_if_due(saved, (table,))
    second, restored = Checkpoints(tmp_path, resume=True), np.zeros_like(table)
    assert second.restore(identity, (restored,)) == saved
    assert restored.tolist() == table.tolist()


@pytest.mark.parametrize(
    ("changes", "is_valid"),
    [
        ({}, True),
        ({"chunks_done": 1, "history": {"pairs": [0], "log_likelihood": [-1.0]}}, True),
        ({"chunks_done": 1}, False),
        ({"history": {"pairs": [0], "log_likelihood": [-1.0]}}, False),
        ({"chunks_done": 1, "history": {"pairs": [-1], "log_likelihood": [-1.0]}}, False),
        ({"chunks_done": 1, "history": {"pairs": [2**63], "log_likelihood": [-1.0]}}, False),
        ({"chunks_done": 1, "history": {"pairs": [0, 1], "log_likelihood": [-1.0]}}, False),
        ({"chunks_done": 1, "history": {"pairs": [0], "log_likelihood": ["-1"]}}, False),
        ({"chunks_done": 1.0, "history": {"pairs": [0], "log_likelihood": [-1.0]}}, False),
        ({"converged": 2}, False),
        ({"decay_start": 0.5}, False),
    ],
)
def test_a_state_is_valid_if_training_can_resume_from_it(changes, is_valid):
    assert _is_valid(TrainingState(**changes)) == is_valid
