"""Training in parts: the schedule is what it says, the objective that of whole tables, and memory stays bounded."""

from __future__ import annotations

import dataclasses
import itertools
import json
import signal
import subprocess
import sys
import time

import networkx as nx
import numpy as np
import pytest

import efge
import reference
from efge.families.builtin import as_family
from efge.kernels import sgd_partitioned as kernel
from efge.training import trainer as training
from efge.training.checkpoints import Checkpoints
from efge.training.partitioned import local as partitions
from efge.training.partitioned import schedule
from efge.training.workers import Threads

GRAPH = nx.barabasi_albert_graph(300, 3, seed=0)


def settings(**changes):
    defaults = {
        "dim": 8, "window": 10, "negatives": 5, "epochs": 1, "learning_rate": 0.025, "min_learning_rate": 0.0001,
        "noise_power": 0.75, "partitions": 3,
    }  # fmt: skip
    return training.Settings(**(defaults | changes))


def prepared(walks, family, chosen):
    """A job, and the visits of each node."""
    waves, walker = schedule.waves_of(walks, chosen), schedule.Walker.of(walks)
    counted = [schedule.census(walker, pieces, chosen.window) for pieces in waves]
    visits = sum(seen for seen, _ in counted)
    return partitions._job(walks, waves, [pairs for _, pairs in counted], visits, family, chosen), visits


def coded(job, wave):
    return [schedule.coded_walks(job.walker, piece, job.parts.codes) for piece in job.waves[wave]]


def records_of(bucket, cells):
    """A bucket as lists of records by cells of centers and contexts, counted from the first of both parts."""
    sizes, rest = bucket[: 2 * cells**2].reshape(cells, cells, 2), bucket[2 * cells**2 :].tolist()
    records = {}
    for own, other in itertools.product(range(cells), repeat=2):
        count, met = sizes[own, other]
        heads, contexts, rest = rest[: 4 * count], rest[4 * count : 4 * count + met], rest[4 * count + met :]
        some = records[own, other] = []
        for center, pairs, here, negatives in np.reshape(heads, (-1, kernel.HEAD)).tolist():
            some.append((center, pairs, contexts[:here], negatives))
            contexts = contexts[here:]
        assert not contexts
    assert not rest
    return records


def test_walks_by_their_numbers_are_those_of_whole_tables():
    walks = efge.Walks(GRAPH, efge.Node2VecWalk(0.5, 2), walks_per_node=3, walk_length=7, seed=4)
    every = [walk.tolist() for epoch in range(2) for some in walks.rounds(epoch) for walk in some]
    waves = schedule.waves_of(walks, settings(epochs=2))
    walker = schedule.Walker.of(walks)
    made = [walk.tolist() for pieces in waves for piece in pieces for walk in walker.walks(piece)]
    assert made == every
    sizes = [sum(piece.walks for piece in pieces) for pieces in waves]
    assert len(sizes) == 8
    assert sizes[0] < sum(sizes) / 90
    assert all(0.9 < b / a < 2.3 for a, b in itertools.pairwise(sizes)), "a wave is at most twice the one before"
    assert max(sizes) < sum(sizes) / 3, "waves grow to no more than three walks a node"
    visits = sum(schedule.census(walker, pieces, 10)[0] for pieces in waves)
    assert visits.tolist() == np.bincount(list(itertools.chain(*every)), minlength=300).tolist()


def test_every_node_has_a_place_and_parts_have_as_much_work():
    visits = np.random.default_rng(0).zipf(1.8, 5000).clip(max=3000).astype(np.int64)
    graph = efge.as_graph(nx.path_graph(5000))
    parts = schedule.Parts.of(graph, visits, 7)
    assert sorted(parts.nodes.tolist()) == list(range(5000))
    assert len(parts) == 7
    assert len(parts.cell_starts) == 7 * parts.cells + 1
    for part in range(7):
        members = parts.members(part)
        assert len(members) == parts.size(part)
        assert (parts.places(members) == parts.starts[part] + np.arange(len(members))).all()
        assert {int(code) >> parts.shift for code in parts.codes[members]} == {
            part * parts.cells + cell for cell in range(parts.cells)
        }
    work = [int(visits[parts.members(part)].sum()) for part in range(7)]
    light = [count for count in visits if count <= 4 * visits.mean()]
    assert max(work) - min(work) <= max(light), "the last node makes the difference"
    assert max(light) < min(work) / 50
    assert len({parts.size(part) for part in range(7)}) > 1, "parts have as many nodes: the test shows nothing"


def test_neighbors_are_in_different_parts():
    """Parts like the whole graph: else the vectors of a part would learn which part they are in."""
    graph = efge.as_graph(nx.disjoint_union_all([nx.complete_graph(8)] * 50))
    parts = schedule.Parts.of(graph, np.full(400, 10), 4)
    for clique in range(50):
        assert len({int(code) >> parts.shift for code in parts.codes[8 * clique : 8 * clique + 8]}) == 8


def test_a_sub_wave_shares_no_part_and_a_wave_has_every_bucket():
    first, second = (schedule.sub_waves(wave, 5, 1) for wave in (0, 1))
    for turn in first:
        assert sorted(i for i, _ in turn) == sorted(j for _, j in turn) == list(range(5))
    assert sorted(itertools.chain(*first)) == list(itertools.product(range(5), repeat=2))
    assert first != second


@pytest.mark.parametrize("parts", [1, 2, 3, 8])
def test_the_sweep_trains_each_part_in_the_order_of_the_sub_waves(parts):
    turns = schedule.sub_waves(3, parts, 9)
    swept = list(partitions._sweep(turns))
    assert sorted(swept) == sorted((turn, which) for turn in range(parts) for which in turns[turn])
    for table, part in itertools.product((0, 1), range(parts)):
        assert [turn for turn, which in swept if which[table] == part] == list(range(parts))
    changes = sum(a[1][0] != b[1][0] for a, b in itertools.pairwise(swept))
    assert changes <= 2 * parts


def test_routing_does_what_its_twin_does():
    walks = efge.Walks(GRAPH, walks_per_node=20, seed=5)
    job, _ = prepared(walks, efge.Normal(), settings(window=3, partitions=4))
    shift, brief = job.parts.shift, job.brief
    wave = len(job.waves) - 1
    walked = coded(job, wave)
    listed = [
        [(int(code) >> shift, int(code) & ((1 << shift) - 1)) for code in some.codes[begin:end]]
        for some in walked
        for begin, end in itertools.pairwise(some.offsets)
    ]
    cells = brief.cells
    for part in range(4):
        keys = [
            int(schedule.stream_key(5, wave, f"{what} of part {part}")) for what in ("groups", "numbers of negatives")
        ]
        own = range(part * cells, (part + 1) * cells)
        expected = reference.route(listed, own, 4 * cells, 3, brief.group, brief.shares, *keys)
        made = {
            (part * cells + a, other * cells + b): records
            for other, bucket in enumerate(schedule.route(part, wave, walked, brief))
            for (a, b), records in records_of(bucket, cells).items()
        }
        assert made == expected
    assert sum(len(met) for records in expected.values() for _, _, met, _ in records) > 1000


CASES = [
    ("bernoulli", {}, {}),
    ("poisson", {"dim": 20, "learning_rate": 0.2}, {}),
    ("normal", {"negatives": 1, "window": 2, "dim": 130, "learning_rate": 0.2}, {}),
    ("bernoulli-poisson", {"dim": 3, "negatives": 9}, {}),
]


@pytest.mark.parametrize(("family", "changes", "walked"), CASES)
def test_a_bucket_is_trained_as_its_twin_does(family, changes, walked, monkeypatch):
    family, chosen = as_family(family), settings(**changes)
    graph = nx.barabasi_albert_graph(150, 3, seed=0)
    walks = efge.Walks(graph, **({"walks_per_node": 40, "seed": 5} | walked))
    job, _ = prepared(walks, family, chosen)
    brief = dataclasses.replace(job.brief, served=max(1, job.brief.served // 64))
    # A wave of more than a walk a node, learned as fast as the first.
    wave = 4
    which = job.bucket(wave, 2, (0, 2))._replace(pairs_before=0)
    data = schedule.route(0, wave, coded(job, wave), brief)[2]
    tables = (
        schedule.first_tables(job.parts.members(0), brief)[0],
        schedule.first_tables(job.parts.members(2), brief)[1],
    )
    tables[1][:, : chosen.dim] = np.abs(np.random.default_rng(0).normal(0, 0.2, (len(tables[1]), chosen.dim)))
    centers, contexts = (table[:, : chosen.dim].astype(float) for table in tables)
    seen, original = [], kernel.train
    monkeypatch.setattr(kernel, "train", lambda *rest: seen.append(rest) or original(*rest))
    with Threads(1) as threads:
        assert schedule.start_bucket(which, data, tables, job.noise(2), brief, threads)()
    ((_, _, _, key, model, plan, _),) = seen
    records = records_of(data, brief.cells)
    observed = [sum(len(met) + negatives for _, _, met, negatives in some) for some in records.values()]
    assert max(observed) > 2 * plan.served, "one pool is enough: the test shows nothing of the others"
    cells = model.center_cells.tolist(), model.context_cells.tolist()
    assert len(set(cells[0])) > 2, "all in one cell: the test shows nothing of the others"
    before = centers.copy(), contexts.copy()
    reference.train_bucket(records, cells, centers, contexts, family, job.noise(2), plan, int(key))
    np.testing.assert_allclose(tables[0][:, : chosen.dim], centers, atol=2e-4, rtol=2e-3)
    np.testing.assert_allclose(tables[1][:, : chosen.dim], contexts, atol=2e-4, rtol=2e-3)
    assert all(np.abs(now - then).max() > 0.01 for now, then in zip((centers, contexts), before, strict=True))


def members(parts, cell):
    """The nodes of a cell, in the order of its rows."""
    return parts.nodes[parts.cell_starts[cell] : parts.cell_starts[cell + 1]]


def test_pairs_are_all_there_and_negatives_as_many_as_without_parts():
    """Expected observations: 1 once a pair, 0 at v for k (n - n_v) q(v) of a center's n pairs, whatever the parts."""
    chosen = settings(partitions=4)
    walks = efge.Walks(nx.karate_club_graph(), walks_per_node=100, seed=3)
    job, visits = prepared(walks, efge.Normal(), chosen)
    nodes, q = 34, training.noise_weights(visits, 0.75) / training.noise_weights(visits, 0.75).sum()
    ones, expected, zeros = (np.zeros((nodes, nodes)) for _ in range(3))
    parts = job.parts
    for wave in range(len(job.waves)):
        walked = coded(job, wave)
        for i, j in itertools.product(range(4), repeat=2):
            bucket = schedule.route(i, wave, walked, job.brief)[j]
            for (a, b), records in records_of(bucket, parts.cells).items():
                centers, others = (members(parts, part * parts.cells + cell) for part, cell in ((i, a), (j, b)))
                noise = np.zeros(nodes)
                noise[others] = q[others] / q[others].sum()
                for row, pairs, met, negatives in records:
                    contexts = np.bincount(others[met], minlength=nodes)
                    ones[centers[row]] += contexts
                    zeros[centers[row]] += negatives * job.brief.weight * noise * (1 - contexts / pairs)
    assert ones.sum() == sum(job.pairs)
    for some in walks.rounds():
        for walk in some:
            for p, center in enumerate(walk):
                contexts = np.bincount(np.delete(walk, p), minlength=nodes)
                expected[center] += 5 * (len(walk) - 1 - contexts) * q
    assert ones.sum() == 34 * 100 * 90
    # What is left to chance is how often a fraction of a negative is one.
    assert zeros.sum() == pytest.approx(expected.sum(), rel=2e-3)
    np.testing.assert_allclose(zeros.sum(0), expected.sum(0), rtol=0.02)
    np.testing.assert_allclose(zeros.sum(1), expected.sum(1), rtol=0.02)
    np.testing.assert_allclose(zeros, expected, rtol=0.05)


def model(**changes):
    chosen = {"dim": 16, "walks_per_node": 10, "seed": 1, "threads": 1, "partitions": 3}
    return efge.EFGE(**(chosen | changes))


@pytest.fixture(scope="module")
def whole():
    return model().fit(GRAPH)


@pytest.mark.parametrize(("family", "parts"), [("bernoulli", 2), ("bernoulli-poisson", 2), ("bernoulli", 9)])
def test_the_same_bits_at_any_number_of_threads(family, parts):
    """Also where there are more threads than cells."""
    graph = nx.barabasi_albert_graph(4000, 3, seed=1)
    changes = {"family": family, "walks_per_node": 3, "partitions": parts}
    made = [model(**changes, threads=threads).fit(graph) for threads in (1, 2, 5)]
    assert made[0].embedding_ == made[1].embedding_ == made[2].embedding_
    assert made[0].context_embedding_ == made[1].context_embedding_
    assert made[0].history_ == made[2].history_


def test_another_number_of_parts_gives_other_vectors_that_are_as_likely(whole):
    likelihoods = [model(partitions=parts).fit(GRAPH).history_["log_likelihood"][-1] for parts in (None, 1, 8)]
    assert len({*likelihoods, whole.history_["log_likelihood"][-1]}) == 4
    assert max(likelihoods) - min(likelihoods) < 0.02
    assert whole.history_["log_likelihood"][-1] > whole.history_["log_likelihood"][0] + 0.2


def test_history_and_progress_go_to_the_end(whole):
    told = []
    again = model().fit(GRAPH, progress=told.append)
    assert again.embedding_ == whole.embedding_
    assert [at.pairs for at in told] == sorted(at.pairs for at in told)
    assert told[0].pairs == 0
    assert told[-1].pairs == told[-1].total == again.history_["pairs"][-1] == 300 * 10 * 90
    assert len(told) > 9 * 8


def test_the_likelihood_is_that_of_the_vectors(whole):
    embedding, contexts = whole.embedding_.vectors, whole.context_embedding_.vectors
    walks = efge.Walks(GRAPH, "node2vec", walks_per_node=10, seed=1)
    family, chosen = efge.Normal(), settings(dim=16)
    corpus = training.Corpus(walks, 10, 1)
    noise = training._noise(corpus.visits, 0.75)
    tables = [training.aligned(300, 16) for _ in range(2)]
    tables[0][:], tables[1][:] = embedding, contexts
    built = training.kernel.Model(
        *tables, training.cubics(family, "slope"), *noise, *training.NO_TREE, np.ones(0, "f4")
    )
    with Threads(2) as threads:
        look = training._look(corpus, family, built, training._plan(corpus, family, chosen, built.slopes), threads)
        likelihood = look.measure(look.sample)
    assert whole.history_["log_likelihood"][-1] == pytest.approx(likelihood, rel=1e-5)


@pytest.mark.parametrize(
    "graph", [nx.path_graph(2), nx.star_graph(400), nx.Graph([(0, 0)]), nx.empty_graph(3), nx.empty_graph(0)], ids=str
)
@pytest.mark.parametrize("rate", [0.025, 0.25])
def test_any_graph_can_be_trained_in_more_parts_than_it_has_nodes(graph, rate):
    fitted = model(family="poisson", partitions=5, learning_rate=rate).fit(efge.as_graph(graph))
    assert fitted.embedding_.vectors.shape == (len(graph), 16)
    assert np.abs(fitted.embedding_.vectors).max(initial=0) < 20


def test_walks_that_end_early_are_trained_on():
    graph = efge.as_graph([(i, (7 * i + 1) % 90) for i in range(60)], directed=True)
    told = []
    fitted = model(partitions=4, walk_length=20).fit(graph, progress=told.append)
    assert (
        told[-1].pairs
        == told[-1].total
        == training.Corpus(efge.Walks(graph, "node2vec", walks_per_node=10, walk_length=20, seed=1), 10, 1).pairs
    )
    assert np.isfinite(fitted.embedding_.vectors).all()


def test_training_stops_when_the_likelihood_no_longer_rises():
    graph = nx.complete_graph(6)
    stopped, whole = (model(partitions=2, walks_per_node=300, patience=patience).fit(graph) for patience in (1, None))
    assert 1 < len(stopped.history_["pairs"]) < len(whole.history_["pairs"])


def test_training_that_diverges_says_so_and_keeps_finite_vectors(monkeypatch, tmp_path):
    original = schedule.kernel.train

    def broken(thread, threads, data, key, tables, plan, signals):
        tables.contexts[:, 0] = np.inf
        original(thread, threads, data, key, tables, plan, signals)
        tables.contexts[:, 0] = 0

    monkeypatch.setattr(schedule.kernel, "train", broken)
    fitted = model()
    with pytest.raises(efge.TrainingError, match=r"left the finite numbers in wave 0; lower learning_rate"):
        fitted.fit(GRAPH, workdir=tmp_path)
    assert np.isfinite(fitted.embedding_.vectors).all()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trainer": "reference"}, "with partitions, the trainer is 'fast'; got 'reference'"),
        ({"partitions": 0}, "partitions is a whole number from 1 on; got 0"),
        ({"walk": efge.CorpusWalk([[0, 1]])}, "a corpus of them is not read"),
    ],
)
def test_what_cannot_be_trained_in_parts_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        model(**changes).fit(GRAPH)


def test_a_workdir_without_parts_is_refused(tmp_path):
    with pytest.raises(ValueError, match="a workdir is for tables in partitions"):
        model(partitions=None).fit(GRAPH, workdir=tmp_path)


class BreakOffError(Exception):
    pass


def stop_after(waves, total):
    def progress(at):
        if at.pairs > waves * total / 10:
            raise BreakOffError

    return progress


@pytest.mark.parametrize("waves", [1, 6])
def test_a_training_that_was_stopped_goes_on_to_the_same_bytes(tmp_path, whole, waves):
    workdir, kept = tmp_path / "parts", Checkpoints(tmp_path / "kept", every=0)
    with pytest.raises(BreakOffError):
        model().fit(GRAPH, checkpoint=kept, progress=stop_after(waves, 300 * 10 * 90), workdir=workdir)
    assert not list(workdir.iterdir())
    assert 1 <= len(list((tmp_path / "kept").iterdir())) <= 2
    resumed = model().fit(GRAPH, checkpoint=Checkpoints(tmp_path / "kept", resume=True), workdir=workdir)
    assert resumed.embedding_ == whole.embedding_
    assert resumed.context_embedding_ == whole.context_embedding_
    assert resumed.history_ == whole.history_
    with pytest.raises(efge.CheckpointError, match="partitions 3, not 4"):
        model(partitions=4).fit(GRAPH, checkpoint=Checkpoints(tmp_path / "kept", resume=True))


LIMITED = """
import resource, sys, threading
import numpy as np
import efge
from efge.training.partitioned import schedule

# Stacks of threads count in full, however little of them is in use.
threading.stack_size(1 << 20)
# Fewer waves take less time, and no less memory.
schedule._GROWING = 2
nodes, dim, folder = 40_000, 512, sys.argv[1]
tables = 2 * 4 * nodes * dim
random = np.random.default_rng(0)
edges = np.column_stack([np.arange(nodes), random.integers(0, nodes, nodes)])
graph = efge.as_graph(edges, nodes=range(nodes))
chosen = {"seed": 1, "threads": 2, "walk_length": 5, "walks_per_node": 1}
efge.EFGE(dim=16, partitions=2, **chosen).fit([(0, 1), (1, 2)]).embedding_.save(f"{folder}/small.npz")
efge.EFGE(dim=16, **chosen).fit([(0, 1), (1, 2)])
with open("/proc/self/status") as status:
    data = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))
resource.setrlimit(resource.RLIMIT_DATA, (data + tables // 4, data + tables // 4))
try:
    efge.EFGE(dim=dim, **chosen).fit(graph)
    sys.exit("whole tables fit: the limit shows nothing")
except MemoryError:
    pass
model = efge.EFGE(dim=dim, partitions=16, **chosen).fit(graph, workdir=folder)
model.embedding_.save(f"{folder}/vectors.npz")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's here")
def test_a_quarter_of_the_tables_is_memory_enough(tmp_path):
    done = subprocess.run([sys.executable, "-c", LIMITED, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    saved = efge.Embedding.load(tmp_path / "vectors.npz")
    assert saved.vectors.shape == (40_000, 512)
    assert np.abs(saved.vectors).max() > 0.5 / 512
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.npz", "vectors.npz"]


def command(folder, *more):
    arguments = ["embed", "graph.txt", "-o", "v.npz", "--dim", "16", "--seed", "1", "--quiet", "--partitions", "3"]
    return subprocess.Popen(
        [sys.executable, "-m", "efge", *arguments, *more], cwd=folder, stderr=subprocess.PIPE, text=True
    )


@pytest.fixture
def workplace(tmp_path):
    (tmp_path / "graph.txt").write_text("".join(f"{u} {v}\n" for u, v in GRAPH.edges))
    return tmp_path


def test_the_command_trains_in_parts_and_its_record_repeats_it(workplace):
    process = command(workplace, "--walks-per-node", "10", "--workdir", "parts")
    assert (process.communicate()[1], process.returncode) == ("", 0)
    assert not list((workplace / "parts").iterdir())
    record = json.loads((workplace / "v.npz.json").read_text())
    assert record["config"]["partitions"] == 3
    expected = efge.EFGE(dim=16, seed=1, partitions=3, walks_per_node=10).fit(workplace / "graph.txt").embedding_
    made = (workplace / "v.npz").read_bytes()
    assert efge.Embedding.load(workplace / "v.npz") == expected
    (workplace / "v.npz").unlink()
    again = [sys.executable, "-m", "efge", "embed", "--config", "v.npz.json", "--quiet"]
    subprocess.run(again, cwd=workplace, check=True)
    assert (workplace / "v.npz").read_bytes() == made
    assert sorted(path.name for path in workplace.iterdir()) == ["graph.txt", "parts", "v.npz", "v.npz.json"]


@pytest.mark.parametrize("kept", [False, True])
def test_a_command_that_is_interrupted_leaves_no_parts_behind(workplace, kept):
    more = ["--checkpoint", "states", "--every", "0s"] if kept else []
    process = command(workplace, "--walks-per-node", "20000", "--workdir", "parts", *more)
    while process.poll() is None and not list(workplace.glob("states/*" if kept else "parts/*/buckets")):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    message = process.communicate()[1]
    assert (process.returncode, message.count("\n")) == (130, 1), message
    assert not list((workplace / "parts").iterdir())
    assert not kept or "--resume goes on" in message


def test_a_workdir_needs_parts_on_the_command_line_too(workplace):
    arguments = ["embed", "graph.txt", "-o", "v.npz", "--workdir", "parts"]
    done = subprocess.run(
        [sys.executable, "-m", "efge", *arguments], cwd=workplace, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("efge: --workdir is for tables in parts; give their number by --partitions")
