"""Figures of trials: memory, checkpoints, hostile input, partitions, and how the kernels became fast."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from records import load, markdown


def _table(record: str, title: str) -> str:
    return load(record)[title].to_markdown()


# Reliability.


def memory_error() -> str:
    rows = load("memory")["embed"].records()
    worst = max(abs(float(row["estimated / measured"]) - 1) for row in rows)
    nodes = [row["nodes"] for row in rows]
    return (
        f"The estimate was off by at most {100 * worst:.0f} % on graphs of {min(nodes):,} to {max(nodes):,} nodes; "
        "`benchmarks/memory.py` measures it again."
    )


def mapped() -> str:
    row = load("memory")["mapped"].records()[0]
    return (
        f"In a trial by hand, {row['nodes']:,} nodes at {row['dim']} dimensions, whose tables take "
        f"{row['tables, MB']} MB, "
        f"were trained in {row['memory limit, MiB']} MiB for the whole process. It took "
        f"{row['seconds within the limit']} s, "
        f"where {row['seconds without a limit']} s are enough with more memory, and gave the same bytes. Without "
        "`--mmap` "
        "the process is killed."
    )


def checkpoints() -> str:
    row = load("checkpoints")["cost"].records()[0]
    return (
        f"Saving checkpoints of {row['nodes']:,} nodes at {row['dim']} dimensions took {100 * row['share']:.2f} % of a "
        f"training of {row['training, s']} s (one checkpoint)."
    )


def kills() -> str:
    counts = load("checkpoints")["kills"].rows
    each = ", ".join(f"{count} by {signal}" for signal, count in counts)
    return (
        f"One training was killed {sum(count for _, count in counts)} times ({each}; a few may have come after its "
        "end) and "
        "resumed each time; it ended in the same bytes."
    )


def fuzzing() -> str:
    table = load("fuzz")["inputs"]
    total = [sum(row[i] for row in table.rows) for i in range(1, 5)]
    minutes = load("fuzz")["run"].rows[0][0]
    text = markdown(table.columns, [*table.rows, ["**all**", *total]])
    first = f"The record is of {total[0]:,} inputs, guided by coverage, in {minutes} minutes"
    return f"{first}, on a machine that had other work.\n\n{text}"


def fuzzing_failures() -> str:
    *kinds, (_, retried) = load("fuzz")["failures"].rows
    lines = "\n".join(f"- {kind} ({count})" for kind, count in kinds)
    return (
        f"The failures:\n\n{lines}\n\nThe first two kinds are fixed. Each target that failed was given {retried:,} "
        "or more "
        "further inputs with the fixed code, and none failed."
    )


def soak() -> str:
    counts: dict[str, list[Any]] = {}
    for trial, day, claim, tried, failed, minutes in load("soak")["trials"].rows:
        before = counts.get(trial, [trial, claim, 0, 0, 0.0, ""])
        total = [before[2] + tried, before[3] + failed, round(before[4] + minutes, 1)]
        counts[trial] = [trial, claim, *total, max(before[5], day)]
    table = markdown(["trial", "claim", "tried", "failed", "minutes", "last tried"], counts.values())
    return f"All counts so far, on machines that had other work:\n\n{table}"


def mutants() -> str:
    tables = load("mutants")
    rows = []
    changes = tables["random changes"].rows
    seeds = sorted({row[0] for row in changes})
    for name, chosen in [*((seed, [seed]) for seed in seeds), ("all", seeds)]:
        counts = [row[2:] for row in changes if row[0] in chosen]
        tried, same, first, noticed = (sum(column) for column in zip(*counts, strict=True))
        rates = [f"{count} ({100 * count / (tried - same):.0f} %)" for count in (first, noticed)]
        n_modules = len({row[1] for row in changes if row[0] in chosen})
        rows.append([name, n_modules, tried, same, *rates])
    columns = ["seed", "modules", "changes", "without effect", "noticed at first", "noticed"]
    known = [row[2:] for row in tables["known changes"].rows]
    missed, _, _, now = (sum(column) for column in zip(*known, strict=True))
    return (
        f"{markdown(columns, rows)}\n\n"
        "Each seed chose other changes by chance, those from 3 to 8 in a few modules each, most of which had not been"
        " tried before. `tools/mutants.toml` has the reason why some have no effect. Tests"
        " were written, or chosen, for those that they had missed at first; so the first of the two rates is the one to"
        " expect of other changes, that of the last seed above all: more tests were written before it was tried."
        f" Of {missed} changes that tests once missed, they notice {now}."
    )


def processor_features() -> str:
    found = {(row[0], row[1], row[2]): row[3:] for row in load("trials")["processor features"].rows}
    fused, split = dict.fromkeys(key[0] for key in found)
    features = list(dict.fromkeys(key[2] for key in found))
    rows = []
    for trainer in dict.fromkeys(key[1] for key in found):
        for arithmetic in (fused, split):
            digests, seconds = zip(*(found[arithmetic, trainer, name] for name in features), strict=True)
            same = ["the same" if digest == digests[0] else "other" for digest in digests[1:]]
            cost = round(seconds[0] / found[fused, trainer, features[0]][1], 2)
            rows.append([trainer, arithmetic, *same, cost])
    return markdown(["trainer", "sums", *(f"bytes, {name}" for name in features[1:]), "processor time"], rows)


# Partitions.


def partition_bytes() -> str:
    rows = []
    for row in load("partitions")["bytes"].records():
        graph = f"{row['nodes']:,} nodes, {row['walks per node']} walks each, one thread"
        measured = [row["core time vs whole tables"], f"{row['bytes per pair']}", row["by the model"]]
        rows.append([graph, f"{row['partitions']}", *measured])
    header = ["power-law graph", "partitions", "core seconds, times whole tables", "bytes per pair, measured"]
    return markdown([*header, "bytes per pair, by the table above"], rows)


def partition_time() -> str:
    table = load("partitions")["clock"]
    rows = [[f"{nodes:,} nodes, {walks} walks each", *counts] for nodes, walks, _, *counts in table.rows]
    return markdown(["power-law graph", "4 partitions", "16 partitions"], rows)


def partition_slowdown() -> str:
    row = load("partitions")["clock"].row(nodes=200_000)
    return f"In 16 partitions, a training of 200,000 nodes takes {row['16 partitions']} times as long."


def cluster_bytes() -> str:
    rows = []
    for row in load("partitions")["cluster"].records():
        machines = "1 machine with 1 core" if row["machines"] == 1 else f"{row['machines']} machines with 1 core each"
        graph = f"{row['nodes']:,} nodes, {row['walks per node']} walks each, {machines}"
        expected = (
            f"{row['contexts by the model']}, had none stayed where it was" if row["machines"] > 1 else "none need move"
        )
        rows.append([graph, f"{row['partitions']}", f"{row['bytes per pair over loopback']}", expected])
    header = ["cluster, all on one machine", "partitions", "bytes per pair over loopback, measured"]
    return markdown([*header, "contexts, by the table above"], rows)


def cluster_overhead() -> str:
    rows = []
    for row in load("partitions")["cluster overhead"].records():
        parts = [row["driver cpu"], row["workers cpu"], row["Ray cpu"]]
        total = round(sum(parts), 1)
        ratio = round(total / row["local cpu"], 1)
        memory = [row["local MB"], row["driver MB"]]
        run = f"{row['nodes']:,} nodes, {row['walks per node']} walks each, {row['partitions']} partitions"
        rows.append([run, row["local cpu"], total, *parts, ratio, *memory])
    header = ["two cores", "local", "cluster", "driver", "workers", "Ray", "cluster / local", "local, MB", "driver, MB"]
    return markdown(header, rows)


def cells() -> str:
    row = load("partitions")["cells"].records()[0]
    return (
        f"In a trial with {row['partitions']} partitions of {row['nodes']:,} nodes, {row['cells per partition']} "
        "cells per "
        f"partition cost {row['cost of a pair vs two cells']} times as much per pair, because each center then meets "
        "hardly "
        "more than one context at a time."
    )


# How it became fast.


def waiting() -> str:
    at = dict(load("trials")["waiting"].rows)
    return (
        f"Two programs that share nothing reach {at['two independent programs']} the speed of one on this machine, and "
        f"{at['two independent programs, bad hours']} in bad hours. By the processor's counter, a thread waits for "
        "the other "
        f"for {at['waiting at 10,000 nodes']} of the time at 10,000 nodes, where they meet twice in each round of "
        "half a "
        f"millisecond, and for {at['waiting at 200,000 nodes']} at 200,000 nodes. Work between pieces (walks, held-out "
        f"evaluations, Python) takes {at['between pieces, one thread']} of the time of one thread and "
        f"{at['between pieces, two threads']} of that of two."
    )


def training_stages() -> str:
    table = load("trials")["training stages"]
    fetching, writing = (row[1] for row in load("trials")["large graph stages"].rows)
    after = f"At 200,000 nodes fetching took {fetching} ns and writing back {writing} ns."
    return f"{table.to_markdown()}\n\n{after}"


def shared_rows() -> str:
    few, many = (row[1] for row in load("trials")["shared rows"].rows)
    return f"Blocks share {few} of a round's rows at 10,000 nodes, and {many} at 200,000; those are copied."


def row_update() -> str:
    ours, loop = (row[1] for row in load("trials")["row update"].rows)
    return (
        "Updating a row reads and writes 512 bytes in the first-level cache. It takes about as long as the machine "
        "needs for "
        f"that: {ours} ns for 32 bytes, where a loop in C that does nothing else needs {loop} ns."
    )


def growth_scores() -> str:
    few, reference, many = (row[2] for row in load("trials")["growth scores"].rows)
    return (
        f"With 20,000 nodes of the same kind, 10 walks give an AUC of {few:.2f} (the reference trainer "
        f"{reference:.2f}) and "
        f"the paper's 80 walks {many:.2f}."
    )


def proposals() -> str:
    return f"One proposal of a second-order step takes {load('trials')['second-order steps'].rows[0][1]}."


def eight_rows() -> str:
    nanoseconds = load("trials")["eight rows"].rows[0][1]
    return (
        f"The dot products and updates of eight rows of 128 entries take {nanoseconds} ns where the rows are in the "
        "cache. "
        f"Shared negatives in LINE lowered Micro-F1 by {load('trials')['LINE'].rows[0][1]}."
    )


def reruns() -> str:
    table = load("trials")["training reruns"]
    startup = load("trials")["start-up reruns"]
    return f"{table.to_markdown()}\n\n{startup.to_markdown()}"


BLOCKS: dict[str, Callable[[], str]] = {
    "first run": partial(_table, "first_run", "first run"),
    "memory": partial(_table, "memory", "embed"),
    "memory error": memory_error,
    "mapped": mapped,
    "checkpoints": checkpoints,
    "kills": kills,
    "fuzzing": fuzzing,
    "fuzzing failures": fuzzing_failures,
    "soak": soak,
    "mutants": mutants,
    "processor features": processor_features,
    "partition bytes": partition_bytes,
    "partition time": partition_time,
    "partition slowdown": partition_slowdown,
    "cluster bytes": cluster_bytes,
    "cluster overhead": cluster_overhead,
    "cells": cells,
    "waiting": waiting,
    "training stages": training_stages,
    "shared rows": shared_rows,
    "row update": row_update,
    "growth scores": growth_scores,
    "reruns": reruns,
    "proposals": proposals,
    "eight rows": eight_rows,
    "tried": partial(_table, "trials", "tried"),
    "uses of a negative": partial(_table, "trials", "uses of a negative"),
    "more uses of a negative": partial(_table, "trials", "more uses of a negative"),
    "uses by labels": partial(_table, "trials", "uses by labels"),
    "communities that mix": partial(_table, "trials", "communities that mix"),
    "small pools": partial(_table, "trials", "small pools"),
    "reading steps": partial(_table, "trials", "reading steps"),
    "walk steps": partial(_table, "trials", "walk steps"),
}
