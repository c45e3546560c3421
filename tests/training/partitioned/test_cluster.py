"""Training on clusters: real ones, of several machines that are all this one, some of which are lost on the way."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import networkx as nx
import pytest

import efge
from efge.cli.embed import _placed
from efge.cli.runs import Run
from efge.training.checkpoints import Checkpoints
from efge.training.partitioned.cluster import CLUSTER_PARTITIONS

ray = pytest.importorskip("ray", reason="clusters need Ray, which is not installed: pip install 'efge[ray]'")

# What Ray says of its own, in whatever version, is nothing that we could act on.
pytestmark = pytest.mark.filterwarnings("ignore")
GRAPH = nx.barabasi_albert_graph(300, 3, seed=0)
STORE = 100 * 2**20


def model(**changes):
    chosen = {"dim": 16, "walks_per_node": 4, "seed": 1, "threads": 1, "partitions": 3}
    return efge.EFGE(**(chosen | changes))


@pytest.fixture(scope="module")
def whole():
    return model().fit(GRAPH)


def add(cluster, number, **resources):
    """Another machine, under an address of its own that nobody else can reach."""
    chosen = {"num_cpus": 1, "object_store_memory": STORE} | resources
    return cluster.add_node(node_ip_address=f"127.0.0.{number}", include_dashboard=False, **chosen)


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    before = os.environ.get("RAY_USAGE_STATS_ENABLED")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    made = Cluster()
    try:
        for number in (2, 3, 4):
            add(made, number)
        yield made
    finally:
        ray.shutdown()
        made.shutdown()
        os.environ.pop("RAY_USAGE_STATS_ENABLED")
        if before is not None:
            os.environ["RAY_USAGE_STATS_ENABLED"] = before


def same(made, expected):
    return (
        made.embedding_ == expected.embedding_
        and made.context_embedding_ == expected.context_embedding_
        and made.history_ == expected.history_
    )


def test_a_cluster_gives_the_bytes_of_one_machine(cluster, whole):
    assert len({node["NodeManagerAddress"] for node in cluster_nodes(cluster)}) == 3
    told = []
    made = model().fit(GRAPH, cluster=cluster.address, progress=told.append)
    assert same(made, whole)
    assert told[-1].pairs == told[-1].total
    assert not ray.is_initialized()


def cluster_nodes(cluster):
    ray.init(cluster.address, log_to_driver=False, logging_level=logging.ERROR)
    try:
        return [node for node in ray.nodes() if node["Alive"]]
    finally:
        ray.shutdown()


def after(share, act):
    """Progress that does something once, when so much is done."""
    done = []

    def progress(at):
        if at.pairs >= share * at.total and not done:
            done.append(at)
            act()

    return progress, done


def workers(cluster):
    """Processes that do the tasks of this cluster, and of no other one."""
    own = {node.all_processes["raylet"][0].process.pid for node in cluster.list_all_nodes()}
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[1]) in own:
                found.append(int(path.parent.name))
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up as Linux has them")
def test_a_worker_that_is_killed_changes_nothing(cluster, whole):
    killed, over = [], threading.Event()

    def kill_one_at_work():
        while not killed and not over.is_set():
            for pid in workers(cluster):
                with contextlib.suppress(OSError):
                    if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"ray::_train"):
                        os.kill(pid, signal.SIGKILL)
                        killed.append(pid)
                        break

    killer = threading.Thread(target=kill_one_at_work)
    progress, done = after(0.2, killer.start)
    try:
        made = model().fit(GRAPH, cluster=cluster.address, progress=progress)
    finally:
        over.set()
    assert same(made, whole)
    assert done
    killer.join()
    assert killed, "no worker was at work to be killed: the test shows nothing"


def test_a_machine_that_is_lost_changes_nothing(cluster, whole):
    lost = add(cluster, 5)
    progress, done = after(0.5, lambda: cluster.remove_node(lost, allow_graceful=False))
    assert same(model().fit(GRAPH, cluster=cluster.address, progress=progress), whole)
    assert done


class BreakOffError(Exception):
    pass


def newest(folder):
    return max(int(path.stem.split("-")[1]) for path in folder.iterdir())


def test_a_state_of_one_machine_goes_on_on_a_cluster_and_back(cluster, whole, tmp_path):
    def stop(share):
        def progress(at):
            if at.pairs > share * at.total:
                raise BreakOffError

        return progress

    with pytest.raises(BreakOffError):
        model().fit(GRAPH, checkpoint=Checkpoints(tmp_path, every=0), progress=stop(0.25))
    before, kept = newest(tmp_path), Checkpoints(tmp_path, every=0, resume=True)
    with pytest.raises(BreakOffError):
        model().fit(GRAPH, cluster=cluster.address, checkpoint=kept, progress=stop(0.75))
    assert newest(tmp_path) > before > 0
    assert same(model().fit(GRAPH, checkpoint=Checkpoints(tmp_path, resume=True)), whole)


def test_the_command_trains_on_a_cluster(cluster, whole, tmp_path):
    (tmp_path / "graph.txt").write_text("".join(f"{u} {v}\n" for u, v in GRAPH.edges))
    arguments = ["--seed", "1", "--dim", "16", "--walks-per-node", "2", "--quiet", "--partitions", "2"]
    common = [sys.executable, "-m", "efge", "embed", "graph.txt", "-o", "v.npz"]
    subprocess.run([*common, *arguments, "--cluster", cluster.address], cwd=tmp_path, check=True)
    made = (tmp_path / "v.npz").read_bytes()
    assert json.loads((tmp_path / "v.npz.json").read_text())["config"]["partitions"] == 2
    again = [sys.executable, "-m", "efge", "embed", "--config", "v.npz.json", "--quiet"]
    subprocess.run(again, cwd=tmp_path, check=True)
    assert (tmp_path / "v.npz").read_bytes() == made
    assert sorted(path.name for path in tmp_path.iterdir()) == ["graph.txt", "v.npz", "v.npz.json"]


def test_on_a_cluster_there_are_parts_and_the_record_is_to_say_so():
    run = Run("graph.txt", "v.npz")
    assert _placed(run, {"cluster": "auto"})["cluster"] == "auto"
    assert run.config(1)["partitions"] == CLUSTER_PARTITIONS == 16


def test_work_that_no_machine_can_hold_is_refused_at_once(cluster):
    large = nx.empty_graph(40_000)
    message = (
        r"a task of 1 partitions and the graph take [\d,]+ MB of a machine's object store; .* take more partitions"
    )
    with pytest.raises(efge.ClusterError, match=message):
        model(dim=512, partitions=1, walks_per_node=1).fit(large, cluster=cluster.address)


def test_a_cluster_that_is_not_there_is_one_line(tmp_path):
    (tmp_path / "graph.txt").write_text("a b\n")
    command = [sys.executable, "-m", "efge", "embed", "graph.txt", "-o", "v.npz", "--cluster", "127.0.0.9:1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("efge: no Ray cluster at '127.0.0.9:1': ")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "v.npz").exists()
