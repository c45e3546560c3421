"""How good the vectors of every method are, on all networks: node classification, and link prediction.

    python benchmarks/quality.py                       # everything, three seeds (make quality; hours)
    python benchmarks/quality.py --seeds 1 --networks cora airports --methods EFGE HOPE
    python benchmarks/quality.py --trainers            # the fast and the reference trainer, with dense graphs

Networks are in the folder that EFGE_DATA names, or else in ../shared/data: a folder for each, with edges.tsv,
nodes.txt, and labels.tsv if there are classes. Finished cells are in .quality: stop this program at any time, and start
it again to continue. After each network, what was measured goes into `results/quality.json`.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import efge
from efge.datasets.content import read_folder
from efge.experiments.contenders import DIM, Contender, align
from efge.experiments.judging import Outcome, Protocol
from generators import BLOCK_MODELS
from records import save

ROOT = Path(__file__).resolve().parents[1]
LABELLED = ("cora", "citeseer", "dblp", "dolphins", "pages", "pubmed", "ppi", "wiki", "airports")
UNLABELLED = ("astroph", "facebook", "grqc", "hepth")
PERCENTAGES = (2, 10, 50, 90)
METRICS = {
    "classification": [f"{name}@{percentage}" for name in ("micro_f1", "macro_f1") for percentage in PERCENTAGES],
    "links": ["auc@uniform", "auc@degree"],
}
COMPARED = ["micro_f1@10", "micro_f1@50", "micro_f1@90", "auc@uniform", "auc@degree"]


@dataclass(frozen=True)
class GensimSkipGram:
    """gensim's skip-gram with negative sampling, on our walks and with the settings of EFGE's Bernoulli family."""

    dim: int = DIM
    walks_per_node: int = 80
    walk_length: int = 10
    window: int = 10
    negatives: int = 5

    def __call__(self, graph: efge.Graph, seed: int) -> Any:
        from gensim.models import Word2Vec

        numbered = efge.Graph(graph.indptr, graph.indices, graph.weights, directed=graph.directed)
        walks = efge.Walks(
            numbered,
            efge.Node2VecWalk(1.0, 1.0),
            walks_per_node=self.walks_per_node,
            walk_length=self.walk_length,
            seed=seed,
            threads=1,
        )
        with tempfile.TemporaryDirectory() as folder:
            walks.save(Path(folder, "walks.txt"))
            model = Word2Vec(
                corpus_file=str(Path(folder, "walks.txt")), vector_size=self.dim, window=self.window, sg=1, hs=0,
                negative=self.negatives, ns_exponent=0.75, alpha=0.025, min_alpha=0.0001, epochs=1, min_count=0,
                sample=0, shrink_windows=False, workers=1, seed=seed,
            )  # fmt: skip
        return align(efge.Embedding(model.wv.vectors, map(int, model.wv.index_to_key)), numbered).vectors


@dataclass(frozen=True, repr=False)
class UnitLength:
    """The vectors of a model, scaled to length 1, for classifiers that short vectors are too short for."""

    model: Any

    def __repr__(self) -> str:
        return f"UnitLength({Contender('', self.model).description})"

    def __call__(self, graph: efge.Graph, seed: int) -> Any:
        vectors = Contender("", self.model).embed(graph, seed, 1).vectors
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)


# A method is an estimator, or a function of a graph and a seed whose repr names its settings.
METHODS: dict[str, Any] = {
    "EFGE": efge.EFGE(),
    "EFGE, not propagated": efge.EFGE(propagate=None),
    "EFGE, 80 walks": efge.EFGE(walks_per_node=80, init="random"),
    "EFGE, Bernoulli": efge.EFGE("bernoulli"),
    "EFGE, Normal": efge.EFGE("normal"),
    "EFGE-Bern, paper": efge.EFGE.paper("bernoulli"),
    "EFGE-Pois, paper": efge.EFGE.paper("poisson"),
    "EFGE-Norm, paper": efge.EFGE.paper("normal"),
    "EFGE, negative binomial": efge.EFGE("negative-binomial"),
    "EFGE, Bernoulli-Poisson": efge.EFGE("bernoulli-poisson"),
    "DeepWalk": efge.DeepWalk(),
    "Node2Vec": efge.Node2Vec(),
    "LINE": efge.LINE(),
    "HOPE": efge.HOPE(),
    "HOPE, unit length": UnitLength(efge.HOPE()),
    "NetMF": efge.NetMF(),
    "ProNE": efge.ProNE(),
    "BigClam": efge.BigClam(DIM),
    "gensim skip-gram": GensimSkipGram(),
}
TRAINERS = {
    f"{family}, {trainer}": efge.EFGE.paper(family, trainer=trainer)
    for family in ("bernoulli", "poisson", "normal")
    for trainer in ("fast", "reference")
}


def data_folder() -> Path:
    configured = os.environ.get("EFGE_DATA")
    folder = Path(configured) if configured else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        sys.exit(f"there is no folder {folder}; set EFGE_DATA to the folder of the networks")
    return folder


def load_network(name: str) -> tuple[efge.Graph, Any]:
    """Return a graph and its labels, or None."""
    if name in BLOCK_MODELS:
        graph, blocks = BLOCK_MODELS[name].generate()
        return graph, dict(enumerate(blocks.tolist()))
    content = read_folder(data_folder() / name)
    return content.graph, content.classes or None


def measure(name: str, methods: dict[str, Any], options: argparse.Namespace) -> list[Outcome]:
    """Return the outcomes of a network; finished cells are read."""
    graph, labels = load_network(name)

    def show(done: int, total: int, note: str) -> None:
        last = f", {note.removeprefix(f'{name}, ')}" if note else ""
        print(f"{name}: {done} of {total} cells{last}", file=sys.stderr, flush=True)

    scores = efge.benchmark(
        {name: graph},
        methods,
        labels={} if labels is None else {name: labels},
        folder=Path(options.folder, name),
        seeds=options.seeds,
        percentages=PERCENTAGES,
        memory_limit=round(options.matrix_gigabytes * 10**9),
        processes=options.processes,
        threads=1,
        progress=show,
    )
    print(scores.to_markdown(), flush=True)
    record_network(name, graph, labels)
    return scores.outcomes


def write(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], key: int, outdated: Iterable[Any] = ()
) -> None:
    """Write rows that replace those with the same first columns, and those that are outdated."""
    program = f"benchmarks/quality.py, efge {efge.__version__}"
    save("quality", title, columns, rows, program, key=key, outdated=outdated)


def record_network(name: str, graph: efge.Graph, labels: Any) -> None:
    """Record the size of a network, and the fraction of its labelled nodes that are in the largest class."""
    counts: dict[Any, int] = {}
    for classes in (labels or {}).values():
        for label in classes if isinstance(classes, tuple) else (classes,):
            counts[label] = counts.get(label, 0) + 1
    largest = round(max(counts.values()) / len(labels), 4) if labels else None
    row = [name, graph.n_nodes, graph.n_edges, graph.n_components, len(counts) or None, largest]
    write("networks", ["network", "nodes", "edges", "components", "classes", "largest class"], [row], key=1)


def record(outcomes: list[Outcome]) -> None:
    """Put scores and seconds of every cell, and reasons of those without scores, into the record."""
    measured = {(o.network, o.method) for o in outcomes}
    for task, metrics in METRICS.items():
        rows = [
            [o.network, o.method, o.seed, o.ranked, round(o.seconds, 2), *(round(o.scores[m], 4) for m in metrics)]
            for o in outcomes
            if o.task == task and o.scores
        ]
        write(task, ["network", "method", "seed", "ranked", "seconds", *metrics], rows, key=2, outdated=measured)
    reasons = [[o.network, o.method, o.task, o.seed, o.reason] for o in outcomes if o.reason is not None]
    write("not measured", ["network", "method", "task", "seed", "reason"], reasons, key=2, outdated=measured)


def record_trainers(outcomes: list[Outcome]) -> None:
    """Put the scores of both trainers into the record, a row for each seed."""
    merged: dict[tuple[str, str, int], dict[str, float]] = {}
    for o in outcomes:
        if o.ranked:
            found = merged.setdefault((o.network, o.method, o.seed), {})
            found |= {metric: score for metric, score in o.scores.items() if metric in COMPARED}
            found["seconds"] = found.get("seconds", 0.0) + o.seconds
    columns = ["network", "family", "trainer", "seed", "seconds", *COMPARED]
    rows = [
        [network, *method.split(", "), seed, *(round(found[name], 4) for name in columns[4:])]
        for (network, method, seed), found in merged.items()
    ]
    write("trainers", columns, rows, key=3)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*LABELLED, *UNLABELLED, *BLOCK_MODELS]
    parser.add_argument("--networks", nargs="+", choices=names, metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--methods", nargs="+", choices=[*METHODS, *TRAINERS], metavar="NAME")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--trainers", action="store_true", help="compare trainers instead of methods")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--folder", type=Path, default=ROOT / ".quality", help="folder of finished cells")
    parser.add_argument("--matrix-gigabytes", type=float, default=Protocol().memory_limit / 10**9)
    return parser.parse_args()


def main() -> None:
    options = parse_options()
    known = TRAINERS if options.trainers else METHODS
    methods = {name: method for name, method in known.items() if name in (options.methods or known)}
    default = [*BLOCK_MODELS, *LABELLED] if options.trainers else [*LABELLED, *UNLABELLED]
    described = [[name, Contender(name, method).description] for name, method in methods.items()]
    try:
        for name in options.networks or default:
            outcomes = measure(name, methods, options)
            if options.trainers:
                record_trainers(outcomes)
            else:
                write("methods", ["method", "settings"], described, key=1)
                record(outcomes)
    except KeyboardInterrupt:
        sys.exit(f"stopped; finished cells are in {options.folder}, and the same command continues from there")


if __name__ == "__main__":
    main()
