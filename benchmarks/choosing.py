"""How good the choices of `efge.tune` are: on labelled networks, how far from the best candidate by labels.

    python benchmarks/choosing.py                      # all labelled networks (make choosing; an hour)
    python benchmarks/choosing.py --networks cora wiki
    python benchmarks/choosing.py --studies            # only the choices of `efge.tune`; the table of candidates stays
    python benchmarks/choosing.py --missing-links      # seconds for the likeliest missing links of a large graph

Every candidate of the default space is trained on the whole graph with several seeds, to be scored by Micro-F1 at 10,
50 and 90 % of the labels. At 90 %, means of half of the splits are kept too: the best candidate by one half is best by
chance only on that half. The same holds for the fifth of the labels that a study by labels chooses nothing by. Every
candidate is also trained on 12 walks without a fifth of the edges, to be scored by held-out edges in several ways: by
inner product, cosine, and the likelihood ratio of the unfiltered model; against uniform pairs, and pairs by degree. The
way that `efge.tune` scores was chosen on the networks of `CHOSEN_ON`, before the others were looked at. Then
`efge.tune` itself chooses, without labels and with them, with several seeds. Networks are where `quality.py` looks for
them.
Finished trainings are in .choosing; what was measured goes into `results/choosing.json`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import efge
from efge.embedding.embedding import Embedding
from efge.tuning.space import Candidate, make_candidates
from efge.tuning.tasks import TEST_SIZE, LabelTask, LinkTask, Values, dots_and_cosines, rank_edges
from efge.tuning.trials import Trial, TrialRunner, group_by_training
from generators import BlockModel
from quality import ROOT, load_network
from records import save

CHOSEN_ON = ("cora", "airports", "wiki", "ppi")
REPORTED_ON = ("citeseer", "pubmed", "pages", "dblp")
RATIOS = (0.1, 0.5, 0.9)
MANY_NODES = 10_000
SEEDS = 3
CRITERIA = (
    "ap dot", "auc dot", "ap cosine", "auc cosine", "ap likelihood", "auc likelihood",
    "ap dot, degree", "auc dot, degree", "ap cosine, degree", "auc cosine, degree",
)  # fmt: skip


class HeldOutEdges(LinkTask):
    """Inner product, cosine and likelihood ratio, average precision and AUC, each on its own."""

    def __init__(self, graph: efge.Graph, seed: int) -> None:
        super().__init__(graph, seed)
        self.by_degree: dict[int, efge.LinkSplit] = {}
        self.model: Any = None  # the trained model, of which candidates are filtered vectors

    def config(self) -> dict[str, Any]:
        return super().config() | {"program": "choosing"}

    def prepare(self, repeats: Sequence[int]) -> None:
        super().prepare(repeats)
        for repeat in repeats:
            self.by_degree[repeat] = efge.split_links(
                self.graph, TEST_SIZE, negatives="degree", seed=(self.seed, repeat)
            )

    def score(self, embedding: Embedding, repeat: int, quick: bool = False) -> Values:
        split, other = self._splits[repeat], self.by_degree[repeat]
        scores = dict(zip(("dot", "cosine"), dots_and_cosines(embedding, split), strict=True))
        pairs = np.concatenate([split.test_edges, split.test_non_edges])
        scores["likelihood"] = self.model.score_pairs(split.graph.names[pairs])
        scores |= zip(("dot, degree", "cosine, degree"), dots_and_cosines(embedding, other), strict=True)
        found: Values = {}
        for name, values in scores.items():
            auc, precision = rank_edges(values, len(split.test_edges))
            found |= {f"ap {name}": [precision], f"auc {name}": [auc]}
        return found


class Runner(TrialRunner):
    """Labels score the models that a user gets; held-out edges may score by the model before the filter."""

    def _walks(self, model: Any, fraction: float) -> int | None:
        return None if isinstance(self.task, LabelTask) else super()._walks(model, fraction)

    def _vectors(self, model: Any, trial: Trial, threads: int) -> dict[str, Embedding]:
        if isinstance(self.task, HeldOutEdges):
            self.task.model = model
        return super()._vectors(model, trial, threads)


class WholeLabels(LabelTask):
    """Micro-F1 of random splits of all labels; where nodes have several classes, their number is known.

    Repeats are seeds of trainings: those of studies, whose labels that nothing is chosen by are scored as well.
    """

    def __init__(self, graph: efge.Graph, labels: Any) -> None:
        super().__init__(graph, labels, 0, 1.0)
        self.labels = labels
        self.splits = 4 if graph.n_nodes > MANY_NODES else 10

    def config(self) -> dict[str, Any]:
        return super().config() | {"program": "choosing", "splits": self.splits}

    def score(self, embedding: Embedding, repeat: int, quick: bool = False) -> Values:
        scores = efge.node_classification(embedding, self.labels, ratios=RATIOS, repeats=self.splits, threads=1)
        name = f"micro_f1{self.suffix}"
        found: Values = {f"{ratio:.0%}": scores.raw[ratio,][name].tolist() for ratio in RATIOS}
        study = LabelTask(self.graph, self.labels, repeat, 1.0)
        return found | {"unseen": [study.last_scores(embedding)[name]]}


def scores_of(task: LinkTask | LabelTask, folder: Path, repeat: int = 0) -> dict[str, Values]:
    """Scores of every candidate of the default space, by its key."""
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, Values] = {}
    trials = [Trial(tuple(training), 1.0, repeat) for training in group_by_training(make_candidates())]
    for trial in trials:
        (outcome,) = Runner(task, folder, 1).run([trial], lambda trial, outcome: None)
        if outcome.reason is not None:
            raise RuntimeError(f"{trial.candidates[0]}: {outcome.reason}")
        found |= outcome.values
        print(f"  {trial.candidates[0]}: {outcome.seconds:.1f} s", flush=True)
    return found


def columns_of(candidate: Candidate) -> list[Any]:
    parameters = candidate.parameters
    return [parameters["family"], parameters["window"], "none" if parameters["propagate"] is None else "filter"]


def measure_candidates(name: str, graph: efge.Graph, labels: Any, folder: Path) -> None:
    by_labels = [scores_of(WholeLabels(graph, labels), folder, seed) for seed in range(SEEDS)]
    by_edges = scores_of(HeldOutEdges(graph, 0), folder)
    rows, by_part = [], []
    for candidate in make_candidates():
        edges, found = by_edges[candidate.key()], [scores[candidate.key()] for scores in by_labels]
        f1 = np.array([[scores[f"{ratio:.0%}"] for ratio in RATIOS] for scores in found])  # seed, ratio, split
        values = [f1.mean(), *f1.mean(axis=(0, 2)), *(edges[one][0] for one in CRITERIA)]
        parts = [f1[:, -1, ::2].mean(), f1[:, -1, 1::2].mean(), *(scores["unseen"][0] for scores in found)]
        rows.append([name, *columns_of(candidate), *(round(float(value), 4) for value in values)])
        by_part.append([name, *columns_of(candidate), *(round(float(value), 4) for value in parts)])
    columns, f1_columns = ["network", "family", "window", "filter"], [f"micro_f1@{ratio:.0%}" for ratio in RATIOS]
    write("candidates", [*columns, "micro_f1", *f1_columns, *CRITERIA], rows)
    seeds = [f"unseen, seed {seed}" for seed in range(SEEDS)]
    write("parts", [*columns, "micro_f1@90%, even splits", "micro_f1@90%, odd splits", *seeds], by_part)


def measure_studies(name: str, graph: efge.Graph, labels: Any, seeds: int) -> None:
    """Choices of `efge.tune` by one thread, and processor seconds beside those of a default fit."""
    compile_first()
    default, fitted = timed_fit(graph)
    rows = [[name, "default", 0, fitted.family, fitted.window_, "filter", round(default, 2), round(default, 2), ""]]
    for kind, given in (("edges", None), ("labels", labels)):
        for seed in range(seeds):
            start = time.process_time()
            study = efge.tune(graph, given, seed=seed, threads=1)
            dim = study.best_model.embedding_.dim  # the final fit is part of the time
            seconds = time.process_time() - start
            chosen = columns_of(study.rows[0].candidate)
            rows.append([name, kind, seed, *chosen, round(seconds, 1), round(default, 2), study.advice])
            print(f"  {kind}: {study.rows[0].candidate}, dim {dim}, {seconds:.1f} s beside {default:.2f} s", flush=True)
    columns = ["network", "by", "seed", "family", "window", "filter", "seconds", "default fit, s", "advice"]
    write("studies", columns, rows)


def timed_fit(graph: efge.Graph) -> tuple[float, efge.EFGE]:
    start = time.process_time()
    fitted = efge.EFGE(seed=0, threads=1).fit(graph)
    return time.process_time() - start, fitted


def measure_missing_links(nodes: int = 100_000, k: int = 100) -> None:
    """Time the search among all pairs of a graph with communities and hubs, by one thread."""
    graph, _ = BlockModel(nodes, degree=10, blocks=nodes // 100, mixing=0.2).generate()
    model = efge.EFGE(walks_per_node=12, seed=0, threads=1).fit(graph)
    start = time.process_time()
    found = efge.missing_links(model, graph, k, threads=1)
    row = [graph.n_nodes, graph.n_edges, len(found), round(time.process_time() - start, 1)]
    print(*row, flush=True)
    program = f"benchmarks/choosing.py, efge {efge.__version__}"
    save("choosing", "missing links", ["nodes", "edges", "links", "seconds"], [row], program)


def compile_first() -> None:
    """Load all code, so that no time includes that."""
    ring = [(i, (i + step) % 40) for i in range(40) for step in (1, 2)]
    for labels in (None, {i: i % 2 for i in range(40)}):
        efge.tune(ring, labels, space={"window": [1, 2, 3, 4, 5], "dim": 4}, threads=1)


def write(title: str, columns: list[str], rows: list[list[Any]]) -> None:
    save("choosing", title, columns, rows, f"benchmarks/choosing.py, efge {efge.__version__}", key=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*CHOSEN_ON, *REPORTED_ON]
    parser.add_argument("--networks", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--folder", type=Path, default=ROOT / ".choosing", help="folder of finished trainings")
    parser.add_argument("--studies", action="store_true", help="measure choices only")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="number of studies of each kind")
    parser.add_argument("--missing-links", action="store_true", help="measure the search for missing links instead")
    options = parser.parse_args()
    if options.missing_links:
        measure_missing_links()
        return
    for name in options.networks:
        graph, labels = load_network(name)
        print(f"{name}: {graph!r}", flush=True)
        if not options.studies:
            measure_candidates(name, graph, labels, options.folder)
        measure_studies(name, graph, labels, options.seeds)


if __name__ == "__main__":
    main()
