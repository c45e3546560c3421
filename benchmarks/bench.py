"""Compare speed and memory with other libraries, and report which targets are met.

    python benchmarks/bench.py [--only training walks ...] [--repeats 3] [--out benchmarks/results]

The other libraries have their own environments (see the Makefile). Each run is a new process. The tools of a case run
alternately, and a ratio is the median of the ratios of consecutive runs, because the speed of a machine drifts. After
each group of cases, ``bench.json`` is written with all measurements; cases that are not run keep their earlier results.
Stop this program at any time, and start it again to continue: finished groups are listed in .bench until all are, and
``--only`` measures groups again. `figures.py` shows the record on the pages.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import efge
from arena import HERE, PYTHON, Case, Finished, Inputs, Target, command, contestant

PACKAGES = {"peers": ["ensmallen", "csrgraph", "fastnode2vec", "pecanpy", "gensim"]}
PACKAGES |= {"baselines": ["karateclub", "nodevectors"]}
SPLITS_COMPARED = 3
FINISHED = HERE.parent / ".bench" / "finished.txt"
OUR_PACKAGES = ["efge", "numpy", "scipy", "numba", "llvmlite", "scikit-learn", "gensim"]


# Cases.


def training(inputs: Inputs, options: argparse.Namespace) -> list[Case]:
    cases = []
    for nodes, per_node in ((10_000, 20), (200_000, 1)):
        case = Case(f"training, {nodes:,} nodes", "million pairs a second")
        files = {"graph": str(inputs.graph(nodes)), "walks": str(inputs.walks(nodes, per_node)), "per_node": per_node}
        tools = ["gensim", "grape", *(f"efge {family}" for family in ("bernoulli", "normal", "poisson"))]
        contestants = {
            f"{tool}, {threads} thread{'s' * (threads > 1)}": contestant("train", tool, files | {"threads": threads})
            for threads in (1, 2)
            for tool in tools
        }
        case.take_turns(contestants, options.repeats)
        for tool in tools[2:]:
            one, two = f"{tool}, 1 thread", f"{tool}, 2 threads"
            case.add_min_ratio(f"{tool} vs gensim, {nodes:,} nodes, one thread", one, "gensim, 1 thread", 10)
            case.add_min_ratio(f"{tool} vs grape, {nodes:,} nodes, one thread", one, "grape, 1 thread", 3)
            digests = {run["digest"] for name in (one, two) for run in case.successful(name)}
            same = Target(
                f"{tool}, same bytes in all runs, {nodes:,} nodes", "1", str(len(digests)), "", len(digests) == 1
            )
            case.targets.append(same)
        cases.append(case)
    return cases


def threads(inputs: Inputs, options: argparse.Namespace) -> list[Case]:
    """Compare two threads with one in consecutive runs: between runs of other tools, the machine's speed drifts."""
    cases = []
    for nodes, per_node in ((10_000, 20), (200_000, 1)):
        for family in ("bernoulli", "normal", "poisson"):
            case = Case(f"threads, {family}, {nodes:,} nodes", "million pairs a second")
            files = {"graph": str(inputs.graph(nodes)), "walks": "", "per_node": per_node}
            names = {count: f"efge, {count} thread{'s' * (count > 1)}" for count in (1, 2)}
            contestants = {
                name: contestant("train", f"efge {family}", files | {"threads": count}) for count, name in names.items()
            }
            case.take_turns(contestants, 2 * options.repeats)
            case.add_min_ratio(f"efge {family}, two threads vs one, {nodes:,} nodes", names[2], names[1], 1.8)
            cases.append(case)
    return cases


def walks(inputs: Inputs, options: argparse.Namespace) -> list[Case]:
    """Compare with documented functions of peers; on the smaller graph also, once, with their inner loops alone."""
    cases = []
    kinds = {"uniform": (1, 1, "grape"), "p=0.5 q=1": (0.5, 1, "grape"), "p=0.5 q=2": (0.5, 2, "fastnode2vec")}
    for nodes, per_node in ((10_000, 20), (200_000, 2)):
        for kind, (p, q, peer) in kinds.items():
            case = Case(f"walks, {kind}, {nodes:,} nodes", "million steps a second")
            details = {"graph": str(inputs.graph(nodes)), "p": p, "q": q, "length": 80, "threads": 1}
            ours = details | {"per_node": 8 * per_node}
            theirs = details | {"per_node": 1 if peer == "fastnode2vec" else per_node}
            contestants = {
                "efge, 1 thread": contestant("walk", "efge", ours),
                "efge, 2 threads": contestant("walk", "efge", ours | {"threads": 2}),
                f"{peer}, 1 thread": contestant("walk", peer, theirs),
            }
            case.take_turns(contestants, options.repeats)
            if nodes == 10_000:
                inner_loops = [*(["csrgraph"] if kind == "uniform" else []), "fastnode2vec inside", "pecanpy inside"]
                others = details | {"per_node": per_node}
                case.take_turns({f"{tool}, 1 thread": contestant("walk", tool, others) for tool in inner_loops}, 1)
            what = f"walks, {kind}, {nodes:,} nodes"
            case.add_min_ratio(f"{what}, vs {peer}, one thread", "efge, 1 thread", f"{peer}, 1 thread", 8)
            case.add_min_ratio(f"{what}, two threads vs one", "efge, 2 threads", "efge, 1 thread", 1.8)
            cases.append(case)
    return cases


def files(inputs: Inputs, options: argparse.Namespace) -> list[Case]:
    """Use the settings of the paper. pecanpy trains about half the pairs, because its windows have random widths."""
    case = Case(f"file to file, 200,000 nodes, {options.walks} walks a node", "seconds")
    source, out = inputs.edge_list(200_000), inputs.folder / "vectors.npz"
    peer = [PYTHON["peers"].with_name("pecanpy"), "--input", source, "--output", inputs.folder / "theirs.npz"]
    peer += ["--mode", "FirstOrderUnweighted", "--dimensions", 128, "--walk-length", 9, "--num-walks", options.walks]
    peer += ["--window-size", 10, "--workers", 2]
    ours = [sys.executable, "-m", "efge", "embed", source, "-o", out, "--model", "efge-bern", "--seed", 1, "--force"]
    ours += ["--walks-per-node", options.walks]
    case.take_turns({"efge embed": command(*ours), "pecanpy": command(*peer)}, 1)
    what = f"efge embed vs pecanpy, 200,000 nodes, 1 million edges, {options.walks} walks a node"
    case.add_min_ratio(what, "efge embed", "pecanpy", 10)
    return [case]


def startup(inputs: Inputs, options: argparse.Namespace) -> list[Case]:
    case = Case("start-up", "seconds")
    script = Path(sys.executable).with_name("efge")
    embed = command(script, "embed", inputs.karate, "-o", inputs.folder / "karate.npz", "--seed", 1, "--force")
    embed()
    case.take_turns({"efge embed, karate club": embed, "efge --help": command(script, "--help")}, 2 * options.repeats)
    for name, maximum in (("efge embed, karate club", 1.0), ("efge --help", 0.2)):
        case.add_max_value(name, [run["seconds"] for run in case.successful(name)], maximum, " s")
    return [case]


def growth(inputs: Inputs, options: argparse.Namespace) -> list[Case]:
    case = Case("growth", "million pairs a second")
    sizes = {"10,000 nodes": (10_000, 5, 80), "1,000,000 nodes": (1_000_000, 10, 10)}
    for name, (nodes, edges_per_node, per_node) in sizes.items():
        path = inputs.graph(nodes, edges_per_node, held_out=nodes // 50)
        details = {"graph": str(path), "held_out": str(path.with_suffix(".npy")), "per_node": per_node, "threads": 2}
        case.take_turns({name: contestant("grow", "efge", details)}, 1 if nodes > 10_000 else options.repeats)
    small, large = ([case.cost(run) for run in case.successful(name)] for name in sizes)
    times = [cost / statistics.median(small) for cost in large]
    case.add_max_value("cost of a pair at 1,000,000 nodes vs 10,000", times, 1.5, " times")
    run = case.successful("1,000,000 nodes")[-1]
    ratio = run["added"] / (1_000_000 * 128 * 8 + run["graph"])
    target = Target(
        "memory of a million nodes vs tables and graph",
        "within 20 %",
        f"{ratio:.2f} times",
        "",
        abs(ratio - 1) <= 0.2,
    )
    case.targets.append(target)
    return [case]


def baselines(inputs: Inputs, options: argparse.Namespace) -> list[Case]:
    """Compare whole methods: 80 walks of 10 nodes from each node, window 10, 128 dimensions, two cores.

    gensim gets efge's walks, and its time covers only counting words and training; the others make their own walks.
    karateclub trains DeepWalk and Node2Vec with CBOW, which is much cheaper than skip-gram. HOPE of karateclub and of
    grape uses common neighbors where efge uses the Katz index.
    """
    peers = {
        "DeepWalk": ("gensim",),
        "Node2Vec": ("gensim", "nodevectors"),
        "LINE": ("grape",),
        "HOPE": ("karateclub", "grape"),
        "NetMF": ("karateclub",),
        "BigClam": ("karateclub",),
    }
    for name, nodes in (("small", 300), ("large", 5000)):
        np.save(inputs.folder / f"{name}.npy", np.unique(np.sort(inputs.edges(nodes), axis=1), axis=0))
    cases = []
    for method, others in peers.items():
        case = Case(f"{method}, 5,000 nodes", "seconds")
        details = {
            "method": method,
            "edges": str(inputs.folder / "large.npy"),
            "small": str(inputs.folder / "small.npy"),
        }
        case.take_turns({tool: contestant("fit", tool, details) for tool in ("efge", *others)}, min(2, options.repeats))
        for peer in others:
            case.add_min_ratio(f"{method} vs {peer}", "efge", peer, 2)
        cases.append(case)
    return cases


def evaluation(inputs: Inputs, options: argparse.Namespace) -> list[Case]:
    """The plain loop runs only some of the 50 splits of each ratio: all of them would take most of an hour."""
    case = Case("classification of DBLP, 18 ratios", "splits a second")
    dataset = efge.load_dataset("dblp")
    model = efge.EFGE.paper("normal", seed=0).fit(dataset.graph)
    classes = dataset.labels or {}
    names = [name for name in dataset.graph.names if name in classes]
    vectors, labels = inputs.folder / "dblp.npy", inputs.folder / "dblp-labels.npy"
    np.save(vectors, model.embedding_[names])
    np.save(labels, np.array([str(classes[name]) for name in names]))
    details = {"vectors": str(vectors), "labels": str(labels), "compared": SPLITS_COMPARED}
    contestants = {"efge": contestant("classify", "efge", details | {"repeats": 50})}
    contestants["scikit-learn"] = contestant("classify", "scikit-learn", details | {"repeats": SPLITS_COMPARED})
    case.take_turns(contestants, 1)
    case.add_min_ratio("classification vs a plain scikit-learn loop", "efge", "scikit-learn", 3)
    ours, theirs = (np.array(case.successful(name)[0]["scores"]) for name in contestants)
    what = f"Micro-F1 of {SPLITS_COMPARED} splits vs the loop's, largest difference over 18 ratios"
    case.add_max_value(what, [float(np.abs(ours - theirs).max())], 0.001, "")
    return [case]


def quality(inputs: Inputs, options: argparse.Namespace) -> list[Case]:
    cases = []
    for network, metric in (("cora", "Micro-F1"), ("grqc", "AUC")):
        for family in ("bernoulli", "normal", "poisson"):
            case = Case(f"quality, {network}, {family}", "score")
            for seed in range(options.repeats):
                details = {"network": network, "family": family, "seed": seed}
                case.take_turns(
                    {trainer: contestant("score", trainer, details) for trainer in ("fast", "reference")}, 1
                )
            means = [statistics.mean(run["score"] for run in case.successful(name)) for name in ("fast", "reference")]
            what = f"{metric} on {network}, {family}, {options.repeats} seeds: {means[0]:.4f} and {means[1]:.4f}"
            case.add_max_value(f"below the reference trainer: {what}", [means[1] - means[0]], 0.005, "")
            cases.append(case)
    return cases


class Group(NamedTuple):
    """A group of cases, and the minutes that it takes on a machine with two cores and three repeats."""

    measure: Callable[[Inputs, argparse.Namespace], list[Case]]
    minutes: int


GROUPS = {
    "startup": Group(startup, 1),
    "training": Group(training, 10),
    "threads": Group(threads, 3),
    "walks": Group(walks, 6),
    "growth": Group(growth, 3),
    "baselines": Group(baselines, 8),
    "evaluation": Group(evaluation, 3),
    "quality": Group(quality, 4),
    "files": Group(files, 36),
}


# The record.


def machine() -> dict[str, Any]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    system = {"cpu": model, "cores": os.cpu_count(), "caches": caches(), "memory": memory}
    system["system"] = platform.platform()
    versions = {"python": platform.python_version()} | {name: version(name) for name in OUR_PACKAGES}
    for home, names in PACKAGES.items():
        code = f"from importlib.metadata import version as v; print(*[v(name) for name in {names!r}])"
        done = subprocess.run([PYTHON[home], "-c", code], capture_output=True, text=True)
        installed = done.stdout.split() or ["not installed"] * len(names)
        versions |= dict(zip(names, installed, strict=True))
    return system | {"versions": versions}


def caches() -> dict[str, str]:
    """Return the size of each cache of the first core, such as {"L1 Data": "32K", "L2 Unified": "1024K"}."""
    folders = sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"))
    read = [{name: (folder / name).read_text().strip() for name in ("level", "type", "size")} for folder in folders]
    return {f"L{cache['level']} {cache['type']}": cache["size"] for cache in read}


def write_record(folder: Path, cases: dict[str, Case]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    record = {"machine": machine(), "cases": [asdict(case) for case in cases.values()]}
    (folder / "bench.json").write_text(json.dumps(record, indent=1) + "\n")


def read_report(folder: Path) -> dict[str, Case]:
    """Read the cases of earlier runs."""
    path = folder / "bench.json"
    if not path.exists():
        return {}
    cases = {}
    for case in json.loads(path.read_text())["cases"]:
        cases[case["name"]] = Case(**case | {"targets": [Target(**target) for target in case["targets"]]})
    return cases


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(GROUPS), help="measure these groups, finished or not")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--walks", type=int, default=80, help="walks from each node in the case file to file")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--finished", type=Path, default=FINISHED, help=argparse.SUPPRESS)
    options = parser.parse_args()
    finished = Finished(options.finished, GROUPS)
    names = options.only or [name for name in GROUPS if name not in finished.names]
    cases = read_report(options.out)
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(names):
            left = sum(GROUPS[other].minutes for other in names[number:])
            print(f"{name}: about {GROUPS[name].minutes} minutes; {left} until the end", file=sys.stderr, flush=True)
            try:
                new_cases = GROUPS[name].measure(Inputs(Path(folder)), options)
            except efge.DatasetError as error:
                print(f"{name} is skipped: {error}", file=sys.stderr)
                continue
            now = datetime.now(timezone.utc).isoformat(timespec="minutes")
            for case in new_cases:
                case.measured_at = now
                cases[case.name] = case
            write_record(options.out, cases)
            if not options.only:
                finished.add(name)
    targets = [target for case in cases.values() for target in case.targets]
    for target in targets:
        print(f"{target.what}: {target.measured} ({target.spread}), wanted {target.wanted}")
    missed = [target.what for target in targets if target.met is False]
    print(f"{len(missed)} targets missed{': ' if missed else ''}{'; '.join(missed)}")


if __name__ == "__main__":
    main()
