"""Figures of speed and memory: what `bench.py`, `roofline.py` and `reading.py` recorded."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from functools import cache
from typing import Any

from records import RESULTS, load, markdown

Run = dict[str, Any]

FAMILIES = ("bernoulli", "normal", "poisson")
DIM = 128
# A block of 40 centers in walks of 10: 9 contexts and 15 negatives for each center, which share their rows.
PAIRS, STEPS = 40 * 9, 40 * 24
# A pool of negatives, by the graph's nodes, and some 35 nodes, each with two rows.
ROWS = {10_000: 36 + 2 * 35, 200_000: 30 + 2 * 35}


# What was measured.


@cache
def bench() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((RESULTS / "bench.json").read_text("utf-8"))
    return read


def case(name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(case for case in bench()["cases"] if case["name"] == name)
    return found


def sound(found: dict[str, Any], tool: str) -> list[Run]:
    return [run for run in found["runs"].get(tool, []) if "error" not in run]


def values(found: dict[str, Any], tool: str) -> list[float]:
    """What each run gave, in the case's unit."""
    runs = sound(found, tool)
    if found["unit"] == "score":
        return [run["score"] for run in runs]
    if found["unit"] == "seconds":
        return [run["seconds"] for run in runs]
    scale = 1e-6 if found["unit"].startswith("million") else 1.0
    return [scale * run["work"] / run["seconds"] for run in runs]


def middle(name: str, tool: str) -> float:
    return statistics.median(values(case(name), tool))


def ratios(name: str, ours: str, theirs: str) -> list[float]:
    """How many times as fast ours is, for each pair of runs that took turns."""
    costs = [[run["seconds"] / run.get("work", 1) for run in sound(case(name), tool)] for tool in (ours, theirs)]
    return [other / own for own, other in zip(*costs, strict=False)]


def ratio(name: str, ours: str, theirs: str) -> float:
    return statistics.median(ratios(name, ours, theirs))


# How numbers are written.


def rounded(number: float) -> str:
    """Two digits, and all digits before the point."""
    return f"{number:,.0f}" if number >= 9.95 else f"{number:.1f}" if number >= 0.995 else f"{number:.2f}"


def span(numbers: list[float], write: Callable[[float], str] = rounded) -> str:
    low, high = write(min(numbers)), write(max(numbers))
    return low if low == high else f"{low} to {high}"


def times(numbers: list[float]) -> str:
    return f"{span(numbers)} times"


# Training and walks.


def _rates(nodes: int, threads: str) -> list[float]:
    return [middle(f"training, {nodes:,} nodes", f"efge {family}, {threads}") for family in FAMILIES]


def _training_row(nodes: int, threads: str, unit: str = "") -> list[str]:
    name = f"training, {nodes:,} nodes"
    peers = {peer: f"{peer}, {threads}" for peer in ("gensim", "grape")}
    faster = [
        f"{times([ratio(name, f'efge {family}, {threads}', tool) for family in FAMILIES])} {peer}"
        for peer, tool in peers.items()
    ]
    others = ", ".join(f"{peer} {rounded(middle(name, tool))}" for peer, tool in peers.items())
    in_words = {"1 thread": "one thread", "2 threads": "two threads"}[threads]
    # One digit more: families differ by less than a tenth.
    efge = span(_rates(nodes, threads), "{:.1f}".format)
    return [f"training, {nodes:,} nodes, {in_words}{unit}", efge, others, ", ".join(faster)]


def _walk_row(kind: str, label: str, inside: bool = True) -> list[str]:
    """Peers by their documented interface, and, once each, by the compiled loop inside."""
    name = f"walks, {kind}, 10,000 nodes"
    tools = [tool.removesuffix(", 1 thread") for tool in case(name)["runs"] if not tool.startswith("efge")]
    rates = {tool: rounded(middle(name, f"{tool}, 1 thread")) for tool in tools}
    loops = [f"{tool.split()[0]} {rate}" for tool, rate in rates.items() if tool.endswith(" inside")]
    documented = [f"{tool} {rate}" for tool, rate in rates.items() if not tool.endswith(" inside")]
    others = ", ".join(documented) + (f"; inner loops of {' and '.join(loops)}" if inside else "")
    faster = f"{times([ratio(name, 'efge, 1 thread', f'{tools[0]}, 1 thread')])} {tools[0]}"
    return [label, rounded(middle(name, "efge, 1 thread")), others, faster]


def _walk_rows() -> list[list[str]]:
    return [
        _walk_row("uniform", "uniform walks, 10,000 nodes, one thread, million steps per second"),
        _walk_row("p=0.5 q=1", "node2vec walks, p = 0.5, q = 1"),
        _walk_row("p=0.5 q=2", "node2vec walks, p = 0.5, q = 2"),
    ]


def _file_row(label: str) -> list[str]:
    name = "file to file, 200,000 nodes, 80 walks a node"
    theirs = middle(name, "pecanpy")
    times_faster = f"{times([ratio(name, 'efge embed', 'pecanpy')])} pecanpy"
    return [label, f"{middle(name, 'efge embed'):.0f} s", f"pecanpy {theirs / 60:.0f} minutes", times_faster]


def _baseline_rows() -> list[list[str]]:
    rows: list[list[str]] = []
    for method in ("DeepWalk", "Node2Vec", "LINE", "HOPE", "NetMF", "BigClam"):
        name = f"{method}, 5,000 nodes"
        peers = [tool for tool in case(name)["runs"] if tool != "efge"]
        others = ", ".join(f"{peer} {rounded(middle(name, peer))}" for peer in peers)
        faster = ", ".join(f"{rounded(ratio(name, 'efge', peer))} times {peer}" for peer in peers)
        label = f"{method}, 5,000 nodes, two cores, seconds" if not rows else method
        note = " (both of common neighbors)" if method == "HOPE" else ""
        rows.append([label, rounded(middle(name, "efge")), others + note, faster])
    return rows


def _classification_row() -> list[str]:
    name = "classification of DBLP, 18 ratios"
    splits = sound(case(name), "efge")[0]["work"]
    tools = ("efge", "scikit-learn")
    seconds, theirs = (splits / middle(name, tool) for tool in tools)
    faster = times([ratio(name, *tools)])
    label = "classification of DBLP, 50 splits at 18 ratios, two cores"
    return [label, f"{seconds:.0f} s", f"scikit-learn {theirs / 60:.0f} minutes, from three splits", faster]


HEADER = ["what", "efge", "others", "efge is faster by"]


def speed() -> str:
    """The three rows of the README."""
    rows = [
        _training_row(200_000, "2 threads", ", million pairs per second"),
        _walk_row("p=0.5 q=2", "node2vec walks, 10,000 nodes, one thread, million steps per second", inside=False),
        _file_row("file to file, 200,000 nodes, 1 million edges, two cores"),
    ]
    return markdown(HEADER, rows)


def comparison() -> str:
    rows = [
        _training_row(10_000, "1 thread", ", million pairs per second"),
        _training_row(200_000, "1 thread"),
        _training_row(200_000, "2 threads"),
        *_walk_rows(),
        _file_row("`efge embed`, 200,000 nodes and 1 million edges in a file, 80 walks per node, two cores"),
        *_baseline_rows(),
        _classification_row(),
    ]
    return markdown(HEADER, rows)


def training_rates() -> str:
    rows = [
        [f"{nodes:,} nodes", *(span(_rates(nodes, threads), "{:.1f}".format) for threads in ("1 thread", "2 threads"))]
        for nodes in (10_000, 200_000)
    ]
    return markdown(["graph", "one thread", "two threads"], rows)


def walk_rates() -> str:
    kinds = {"uniform": "uniform", "p=0.5 q=1": "node2vec, p=0.5, q=1", "p=0.5 q=2": "node2vec, p=0.5, q=2"}
    rows = []
    for nodes in (10_000, 200_000):
        for kind, label in kinds.items():
            name = f"walks, {kind}, {nodes:,} nodes"
            rates = (rounded(middle(name, tool)) for tool in ("efge, 1 thread", "efge, 2 threads"))
            rows.append([f"{nodes:,} nodes", label, *rates])
    return markdown(["graph", "walks", "one thread", "two threads"], rows)


def default_run() -> str:
    seconds = middle("file to file, 200,000 nodes, 80 walks a node", "efge embed")
    return (
        "With the paper's settings a walk of 10 nodes has 90 pairs and each node starts 80 walks: 7,200 pairs per "
        "node. "
        f"`efge embed` took {seconds:.0f} s for 200,000 nodes and 1 million edges, from file to file, on two cores."
    )


def two_threads() -> str:
    found = {
        nodes: [
            ratio(f"threads, {family}, {nodes:,} nodes", "efge, 2 threads", "efge, 1 thread") for family in FAMILIES
        ]
        for nodes in (10_000, 200_000)
    }
    small, large = (span(numbers, "{:.1f}".format) for numbers in found.values())
    return f"Two threads train {small} times as fast as one at 10,000 nodes, and {large} times at 200,000 nodes."


def whole_table_rate() -> str:
    one = span(_rates(200_000, "1 thread"), "{:.1f}".format)
    return f"One thread of the measured machine trains {one} million pairs per second in whole tables of 200,000 nodes."


# The record.


def machine() -> str:
    about = bench()["machine"]
    first = (
        f"{about['cpu']}, {about['cores']} cores, {about['memory'] / 2**30:.0f} GiB, {about['system'].split('-')[0]}."
    )
    days = sorted({found["measured_at"][:10] for found in bench()["cases"]})
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    return f"{first} Measured on {' and '.join(days)}.\n\nVersions: {versions}."


def targets() -> str:
    rows = []
    for found in bench()["cases"]:
        for target in found["targets"]:
            verdict = "not compared" if target["met"] is None else "met" if target["met"] else "**missed**"
            rows.append([target["what"], target["wanted"], target["measured"], target["spread"], verdict])
    return markdown(["target", "wanted", "measured", "range", "verdict"], rows)


def target_count() -> str:
    all_of_them = [target["met"] for found in bench()["cases"] for target in found["targets"]]
    missed = all_of_them.count(False)
    return f"Of {len(all_of_them)} targets, {missed or 'none'} {'were' if missed > 1 else 'was'} missed."


def runs() -> str:
    columns = ["case", "tool", "median", "range", "unit", "CPU s", "wall s", "peak, MB", "runs"]
    return markdown(columns, [_run_row(found, tool) for found in bench()["cases"] for tool in found["runs"]])


def _run_row(found: dict[str, Any], tool: str) -> list[str]:
    measured = sound(found, tool)
    if not measured:
        return [found["name"], tool, found["runs"][tool][0]["error"], *[""] * 6]
    numbers = values(found, tool)
    cpu, wall, peak = (statistics.median(run[key] for run in measured) for key in ("cpu", "seconds", "memory"))
    spread = f"{min(numbers):.4g} to {max(numbers):.4g}"
    row = [found["name"], tool, f"{statistics.median(numbers):.4g}", spread, found["unit"]]
    return [*row, f"{cpu:.1f}", f"{wall:.1f}", f"{peak / 1e6:,.0f}", str(len(measured))]


def growth() -> str:
    run = sound(case("growth"), "1,000,000 nodes")[-1]
    memory = next(target for target in case("growth")["targets"] if target["what"].startswith("memory"))
    cost = next(target for target in case("growth")["targets"] if target["what"].startswith("cost"))
    tables, graph = 1_000_000 * DIM * 8, run["graph"]
    return (
        f"It took {run['seconds']:.0f} s for {run['work'] / 1e6:.0f} million pairs, after the walks were counted. "
        "Memory "
        f"peaked at {run['memory'] / 1e9:.1f} GB; the tables take {tables / 1e9:.2f} GB of it and the graph "
        f"{graph / 1e9:.2f} GB, and training needs {memory['measured']} what both take. A pair costs "
        f"{cost['measured']} as "
        "much as at 10,000 nodes. This is one run, and the small graph was slow in those minutes.\n\n"
        "The AUC of 20,000 held-out edges against as many random pairs is "
        f"{run['auc by cosine']:.2f} by cosine and {run['auc by degrees']:.2f} by the product of degrees."
    )


# What bounds it.


def bounds() -> str:
    rates = {row["part"]: 1e6 * row["million per second"] for row in load("roofline")["rates"].records()}
    rows = []
    arithmetic = STEPS * 6 * DIM / rates["floating-point operations"] / PAIRS
    moving = STEPS / rates["rows moved in the nearest cache"] / PAIRS
    for nodes, count in ROWS.items():
        parts = [f"random rows {how}, {nodes:,}" for how in ("read", "added to")]
        memory = sum(count / rates[part] for part in parts) / PAIRS
        made_of = f"arithmetic {1e9 * arithmetic:.0f} ns, rows in the cache {1e9 * moving:.0f} ns, "
        made_of += f"rows from memory {1e9 * memory:.0f} ns"
        name, tool = f"training, {nodes:,} nodes", "efge bernoulli, 1 thread"
        rows.append(_bound_row(name, tool, max(arithmetic, moving) + memory, made_of))
        # Where a node's neighbors begin and end, which are neighbors in memory, and one of them.
        cells = 2 / rates[f"random cells read, {nodes:,}"]
        made_of = f"two random cells {1e9 * cells:.1f} ns"
        rows.append(_bound_row(f"walks, uniform, {nodes:,} nodes", "efge, 1 thread", cells, made_of))
    return markdown(["case", "takes, ns", "at least, ns", "share", "lower bound from"], rows)


def _bound_row(name: str, tool: str, least: float, made_of: str) -> list[str]:
    took = statistics.median(run["seconds"] / run["work"] for run in sound(case(name), tool))
    return [name, f"{1e9 * took:.1f}", f"{1e9 * least:.1f}", f"{least / took:.0%}", made_of]


def roofline() -> str:
    table = load("roofline")["rates"]
    return markdown(table.columns, [[part, f"{rate:,.1f}"] for part, rate in table.rows])


# Reading.


def reading() -> str:
    words = []
    for row in load("reading")["edge lists"].records():
        words.append(
            f"{row['edges'] / 1e6:.0f} million edges with {row['names']} for names become a graph in "
            f"{row['efge, s']} s, "
            f"with {row['efge, bytes per edge']} bytes of memory per edge at the peak; `pyarrow.csv` needs "
            f"{row['pyarrow.csv, s']} s to parse the two columns alone."
        )
    return "\n".join(f"- {line}" for line in words)


BLOCKS: dict[str, Callable[[], str]] = {
    "speed": speed,
    "comparison": comparison,
    "training rates": training_rates,
    "walk rates": walk_rates,
    "default run": default_run,
    "two threads": two_threads,
    "whole-table rate": whole_table_rate,
    "machine": machine,
    "targets": targets,
    "target count": target_count,
    "runs": runs,
    "growth": growth,
    "roofline": roofline,
    "bounds": bounds,
    "reading": reading,
}
