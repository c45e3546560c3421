"""Training on Ray clusters of several simulated machines, some of which are lost on the way."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys

import networkx as nx
import pytest

import efge
from efge.cli.embed import _partition_options
from efge.cli.runs import Run
from efge.training.checkpoints import Checkpoints
from efge.training.partitioned import cluster as cluster_engine
from efge.training.partitioned.cluster import CLUSTER_PARTITIONS

ray = pytest.importorskip("ray", reason="clusters need Ray, which is not installed: pip install 'efge[ray]'")

# Warnings of Ray itself, in whatever version, are not ours to fix.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]
GRAPH = nx.barabasi_albert_graph(300, 3, seed=0)
STORE = 100 * 2**20


def model(**changes):
    defaults = {"dim": 16, "walks_per_node": 4, "seed": 1, "threads": 1, "partitions": 3}
    return efge.EFGE.paper(**(defaults | changes))


@pytest.fixture(scope="module")
def fitted():
    return model().fit(GRAPH)


def add_machine(cluster, number, **resources):
    """Add a machine to a cluster, at its own loopback address."""
    options = {"num_cpus": 1, "object_store_memory": STORE} | resources
    return cluster.add_node(node_ip_address=f"127.0.0.{number}", include_dashboard=False, **options)


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    before = os.environ.get("RAY_USAGE_STATS_ENABLED")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    cluster = Cluster()
    try:
        for number in (2, 3, 4):
            add_machine(cluster, number)
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()
        os.environ.pop("RAY_USAGE_STATS_ENABLED")
        if before is not None:
            os.environ["RAY_USAGE_STATS_ENABLED"] = before


def same_result(model, expected):
    return (
        model.embedding_ == expected.embedding_
        and model.context_embedding_ == expected.context_embedding_
        and model.history_ == expected.history_
    )


def test_a_cluster_gives_the_same_bytes_as_one_machine(cluster, fitted):
    assert len({node["NodeManagerAddress"] for node in cluster_nodes(cluster)}) == 3
    reports = []
    result = model().fit(GRAPH, cluster=cluster.address, progress=reports.append)
    assert same_result(result, fitted)
    assert reports[-1].pairs == reports[-1].total
    assert not ray.is_initialized()


def cluster_nodes(cluster):
    ray.init(cluster.address, log_to_driver=False, logging_level=logging.ERROR)
    try:
        return [node for node in ray.nodes() if node["Alive"]]
    finally:
        ray.shutdown()


def act_after(fraction, action):
    """Return a progress callback that calls `action` once a fraction is done, and a list that is then not empty."""
    done = []

    def progress(report):
        if report.pairs >= fraction * report.total and not done:
            done.append(report)
            action()

    return progress, done


def killed_once(notes, train):
    """Return a task that trains a bucket, and whose second call kills its process; the folder of notes counts calls."""

    def train_or_die(*arguments):
        for number in range(100):
            with contextlib.suppress(FileExistsError):
                (notes / str(number)).mkdir()
                break
        if number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return train(*arguments)

    return train_or_die


def test_a_killed_worker_does_not_change_the_result(cluster, fitted, tmp_path, monkeypatch):
    monkeypatch.setattr("efge.training.partitioned.cluster._train", killed_once(tmp_path, cluster_engine._train))
    assert same_result(model().fit(GRAPH, cluster=cluster.address), fitted)
    assert len(list(tmp_path.iterdir())) > 2, "no worker was killed: the test shows nothing"


def test_a_lost_machine_does_not_change_the_result(cluster, fitted):
    lost = add_machine(cluster, 5)
    progress, done = act_after(0.5, lambda: cluster.remove_node(lost, allow_graceful=False))
    assert same_result(model().fit(GRAPH, cluster=cluster.address, progress=progress), fitted)
    assert done


class StopTraining(Exception):  # noqa: N818
    pass


def newest_checkpoint(folder):
    return max(int(path.stem.split("-")[1]) for path in folder.iterdir())


def test_a_checkpoint_of_one_machine_is_resumed_on_a_cluster_and_back(cluster, fitted, tmp_path):
    def stop_after(fraction):
        def progress(report):
            if report.pairs > fraction * report.total:
                raise StopTraining

        return progress

    with pytest.raises(StopTraining):
        model().fit(GRAPH, checkpoint=Checkpoints(tmp_path, every=0), progress=stop_after(0.25))
    before, checkpoints = newest_checkpoint(tmp_path), Checkpoints(tmp_path, every=0, resume=True)
    with pytest.raises(StopTraining):
        model().fit(GRAPH, cluster=cluster.address, checkpoint=checkpoints, progress=stop_after(0.75))
    assert newest_checkpoint(tmp_path) > before > 0
    assert same_result(model().fit(GRAPH, checkpoint=Checkpoints(tmp_path, resume=True)), fitted)


def test_the_command_trains_on_a_cluster(cluster, fitted, tmp_path):
    (tmp_path / "graph.txt").write_text("".join(f"{u} {v}\n" for u, v in GRAPH.edges))
    arguments = ["--seed", "1", "--dim", "16", "--walks-per-node", "2", "--quiet", "--partitions", "2"]
    common = [sys.executable, "-m", "efge", "embed", "graph.txt", "-o", "v.npz"]
    subprocess.run([*common, *arguments, "--cluster", cluster.address], cwd=tmp_path, check=True)
    content = (tmp_path / "v.npz").read_bytes()
    assert json.loads((tmp_path / "v.npz.json").read_text())["config"]["partitions"] == 2
    again = [sys.executable, "-m", "efge", "embed", "--config", "v.npz.json", "--quiet", "--force"]
    subprocess.run(again, cwd=tmp_path, check=True)
    assert (tmp_path / "v.npz").read_bytes() == content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["graph.txt", "v.npz", "v.npz.json"]


@contextlib.contextmanager
def long_command(cluster, folder):
    """Start a command that trains on a cluster for hours, and yield it once it trains."""
    (folder / "graph.txt").write_text("".join(f"{u} {v}\n" for u, v in GRAPH.edges))
    command = [sys.executable, "-m", "efge", "embed", "graph.txt", "-o", "v.npz", "--dim", "16", "--partitions", "2"]
    command += ["--walks-per-node", "100000", "--cluster", cluster.address]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            while "training" not in process.stderr.readline():
                assert process.poll() is None
            yield process
        finally:
            process.kill()


def test_a_signal_stops_a_command_on_a_cluster_in_one_line(cluster, tmp_path):
    with long_command(cluster, tmp_path) as process:
        process.send_signal(signal.SIGTERM)
        *_, last = process.communicate()[1].splitlines()
    assert process.returncode == 130
    assert last == "efge: stopped; nothing was written"
    assert [path.name for path in tmp_path.iterdir()] == ["graph.txt"]


def test_a_lost_head_node_ends_a_command_in_our_words_before_ray_would(tmp_path):
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    try:
        head, address = add_machine(cluster, 6), cluster.address
        with long_command(cluster, tmp_path) as process:
            head.kill_gcs_server(check_alive=False)
            *_, last = process.communicate()[1].splitlines()
        assert process.returncode == 2
        assert last.startswith(f"efge: the head node of the cluster, {address}, is lost: ")
        assert [path.name for path in tmp_path.iterdir()] == ["graph.txt"]
    finally:
        head.kill_all_processes(check_alive=False, allow_graceful=False)


def test_on_a_cluster_the_default_number_of_partitions_is_recorded():
    run = Run("graph.txt", "v.npz")
    assert _partition_options(run, {"cluster": "auto"})["cluster"] == "auto"
    assert run.config(1)["partitions"] == CLUSTER_PARTITIONS == 16


def test_a_task_that_fits_on_no_machine_is_refused_at_once(cluster):
    large = efge.as_graph([(0, 1)], nodes=range(40_000))
    message = (
        r"a task with 1 partitions and the graph take [\d,]+ MB of a machine's object store; .* use more partitions"
    )
    with pytest.raises(efge.ClusterError, match=message):
        model(dim=512, partitions=1, walks_per_node=1).fit(large, cluster=cluster.address)


def test_no_cluster_is_started_by_a_name():
    with pytest.raises(efge.ClusterError, match=r"a cluster is auto, or the address of one .*; got 'local'"):
        model().fit(GRAPH, cluster="local")
    assert not ray.is_initialized()


def test_a_missing_cluster_is_reported_in_one_line(tmp_path):
    (tmp_path / "graph.txt").write_text("a b\n")
    command = [sys.executable, "-m", "efge", "embed", "graph.txt", "-o", "v.npz", "--cluster", "127.0.0.9:1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("efge: no Ray cluster at '127.0.0.9:1': ")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "v.npz").exists()
