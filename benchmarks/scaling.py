"""How training would speed up with more cores than this machine has, from the time of each of its tasks.

    python benchmarks/scaling.py                        # 10,000 and 200,000 nodes, into the record (minutes)
    python benchmarks/scaling.py --nodes 200000 --walks 2 --blocks 128     # a trial of another size of rounds

A run with one thread measures every task of every round, and everything else that a fit does. The tasks of a round are
then scheduled on T workers: a free worker takes the next task, as in the kernel. Each time that a worker takes a
task, comes to a barrier or hears that all are there, a cache line is handed from core to core, which takes its time and
is done for one worker after the other. To begin a call of the kernel costs each worker some time, one after the other,
as Python's lock is held. What is not divided into tasks is serial. The prediction is compared with the measured time of
a fit with one and with two threads.

What it leaves out: memory bandwidth that cores share, lower clocks when all cores are busy, and several sockets.
"""

from __future__ import annotations

import argparse
import heapq
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import numpy.typing as npt

import efge
from arena import Inputs
from efge.families.builtin import as_family
from efge.kernels import sgd as kernel
from efge.training import trainer
from efge.training.corpus import Corpus
from efge.training.workers import Threads
from efge.walks.walks import batch_positions
from records import save
from scaling_kernels import pass_around, read_cycles, timed_train

WORKERS = (1, 2, 4, 8, 16, 32, 64, 128)
# Nodes of the graphs, and walks from each node; targets, as fractions of the number of workers, are by these sizes.
SIZES = {10_000: 20, 200_000: 4}
TARGETS = {(10_000, 16): 0.7, (200_000, 32): 0.8, (200_000, 64): 0.65}
# The paper's number of walks: what is done once, before and after the rounds, is divided by all of them.
WALKS_PER_NODE = 80
# What all threads share, as attributes of modules, and how many may work at it.
SHARED = {
    "walks": ("efge.kernels.walks.first_order_walks", "efge.kernels.blocks.count_visits"),
    "planning": ("efge.training.corpus.plan_blocks", "efge.walks.walks.pack_walks"),
    "evaluation": ("efge.kernels.sgd_reference.mean_log_likelihood",),
    "initial vectors": ("efge.training.tables.fill_uniform",),
    "rounds": ("efge.kernels.sgd.train",),
}
# Plans are made by another thread while the workers train.
MAX_WORKERS = {"evaluation": 8}

# Cores of one chip need about 0.1 microseconds; cores of a virtual machine may be threads of one core, and need less.
MIN_HANDOVER = 1e-7

Seconds = npt.NDArray[np.float64]


class Profile(NamedTuple):
    """What a fit with one thread did: seconds of tasks by round, of shared and serial work, and numbers of calls."""

    rounds: list[tuple[Seconds, Seconds]]  # tasks before the first barrier of a round, and merges after it
    shared: dict[str, float]  # seconds of each kind of shared work, but for the rounds
    serial: float
    calls: int  # of the kernel
    call: float  # seconds until a thread has begun its work in a call
    handover: float  # seconds until a core sees what another one has written


def load_graph(nodes: int) -> efge.Graph:
    with tempfile.TemporaryDirectory() as folder, np.load(Inputs(Path(folder)).graph(nodes)) as arrays:
        return efge.Graph(arrays["indptr"], arrays["indices"])


def make_model(walks: int, threads: int) -> efge.EFGE:
    return efge.EFGE.paper("bernoulli", walks_per_node=walks, threads=threads, seed=1)


@contextmanager
def timed(functions: dict[str, tuple[str, ...]], seconds: dict[str, float]) -> Iterator[None]:
    """Add up the processor seconds of functions, by kind."""
    patches = []
    for kind, names in functions.items():
        for name in names:
            module, _, attribute = name.rpartition(".")
            original = getattr(__import__(module, fromlist=[attribute]), attribute)
            patches.append(mock.patch(name, _timer(original, kind, seconds)))
    for patch in patches:
        patch.start()
    try:
        yield
    finally:
        for patch in patches:
            patch.stop()


def _timer(function: Callable[..., Any], kind: str, seconds: dict[str, float]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        begin = time.thread_time()
        try:
            return function(*arguments)
        finally:
            seconds[kind] = seconds.get(kind, 0.0) + time.thread_time() - begin

    return call


def profile(graph: efge.Graph, walks: int, n_blocks: int | None) -> Profile:
    """Measure a fit and its rounds; what is done for each walk is scaled to the paper's number of walks."""
    make_model(1, 1).fit([(0, 1), (1, 2)])
    scale = WALKS_PER_NODE / walks
    seconds: dict[str, float] = {}
    begin = time.process_time()
    with timed(SHARED, seconds):
        make_model(walks, 1).fit(graph)
    total = time.process_time() - begin
    serial = total - sum(seconds.values())
    seconds.pop("rounds")
    rounds = measure_rounds(graph, walks, n_blocks)
    # Evaluations, initial vectors and the rest do not depend on the number of walks.
    per_walk = {kind: value * scale for kind, value in seconds.items() if kind in ("walks", "planning")}
    batches = len(graph) * 10 * WALKS_PER_NODE / batch_positions(len(graph))
    calls = round(max(batches, 20))
    return Profile(rounds * round(scale), seconds | per_walk, serial, calls, call_seconds(), handover_seconds())


def measure_rounds(graph: efge.Graph, walks: int, n_blocks: int | None) -> list[tuple[Seconds, Seconds]]:
    """Return the seconds of the tasks of all rounds."""
    model = make_model(walks, 1)
    settings = model._settings()
    corpus = Corpus(model._make_walks(graph, None), settings.window, 1)
    run = trainer._prepare(corpus, as_family("bernoulli"), settings, n_blocks=n_blocks)
    rounds, rate = [], cycles_per_second()
    for work, _ in corpus.chunks(1 << 40, run.n_blocks):
        n_rounds = -(-(len(work.blocks) - 1) // run.n_blocks) + 3
        ticks = np.zeros((4, n_rounds, max(run.n_blocks, len(run.workspace.current.copy_start))), np.int64)
        timed_train(work._replace(blocks=work.blocks[:1]), run.model, run.config, run.workspace, ticks)
        used = int(timed_train(work, run.model, run.config, run.workspace, ticks))
        rounds += list(_tasks(ticks[:, :used] / rate))
    return rounds


def _tasks(seconds: Seconds) -> Iterator[tuple[Seconds, Seconds]]:
    """Yield the tasks of each round; one during which another program ran counts as an ordinary one."""
    for stage in seconds:
        present = stage[stage > 0]
        np.minimum(stage, 3 * np.median(present), out=stage, where=stage > 0)
    for number in range(seconds.shape[1]):
        train, resolve, index, merge = (stage[number][stage[number] > 0] for stage in seconds)
        yield np.concatenate([train, resolve, index]), merge


def cycles_per_second() -> float:
    begin, cycles = time.perf_counter(), read_cycles()
    time.sleep(0.2)
    return float(read_cycles() - cycles) / (time.perf_counter() - begin)


def handover_seconds(count: int = 20_000, trials: int = 25) -> float:
    """Return how long it takes one core to see what another one has written: the best of many trials."""
    pass_around(np.zeros(1, np.int64), 0, 0)

    def trial() -> float:
        counters = np.zeros(1, np.int64)
        threads = [threading.Thread(target=pass_around, args=(counters, number, count)) for number in range(2)]
        begin = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return (time.perf_counter() - begin) / count

    return max(min(trial() for _ in range(trials)), MIN_HANDOVER)


def call_seconds(trials: int = 2000) -> float:
    """Return how long Python's lock is held until a thread has begun its work in the kernel."""
    walks = make_model(1, 1)._make_walks([(0, 1), (1, 2)], None)
    settings = make_model(1, 1)._settings()
    run = trainer._prepare(Corpus(walks, settings.window, 1), as_family("bernoulli"), settings)
    (work, _), *_ = run.corpus.chunks(1, 1)
    nothing = work._replace(blocks=work.blocks[:1])
    with Threads(2) as threads:
        begin = time.process_time()
        for _ in range(trials):
            threads._pool.submit(kernel.train, 0, 1, nothing, run.model, run.config, run.workspace).result()
        return (time.process_time() - begin) / trials


def schedule(tasks: Seconds, free: list[float], handover: float) -> list[float]:
    """Return when each worker is free again, if each takes the next task when it is; takers wait for each other."""
    free, counter = sorted(free), 0.0
    for task in tasks:
        counter = max(counter, free[0]) + handover
        heapq.heapreplace(free, counter + float(task))
    return free


def meet(free: list[float], handover: float) -> list[float]:
    """Return when each worker leaves a barrier: arrivals are counted one by one, and the news reaches one by one."""
    arrived = 0.0
    for time_of_arrival in sorted(free):
        arrived = max(arrived, time_of_arrival) + handover
    return [arrived + (number + 1) * handover for number in range(len(free))]


def predict(measured: Profile, workers: int) -> float:
    """Return the seconds of a fit with this number of workers."""
    handover = measured.handover if workers > 1 else 0.0
    rounds = measured.rounds[:: max(1, len(measured.rounds) // 500)]
    free = [0.0] * workers
    for tasks, merges in rounds:
        for stage in (tasks, merges):
            free = meet(schedule(stage, free, handover), handover)
    shared = sum(value / min(workers, MAX_WORKERS.get(kind, workers)) for kind, value in measured.shared.items())
    calls = measured.calls * workers * measured.call
    return max(free) * len(measured.rounds) / len(rounds) + shared + measured.serial + calls


def measure_fit(graph: efge.Graph, walks: int, threads: int) -> float:
    begin = time.perf_counter()
    make_model(walks, threads).fit(graph)
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--walks", type=int, help="walks from each node that are measured")
    parser.add_argument("--blocks", type=int, help="blocks of a round, for a trial that is not recorded")
    parser.add_argument("--handover", type=float, help="nanoseconds to hand over a cache line, if not measured")
    options = parser.parse_args()
    program = f"benchmarks/scaling.py, efge {efge.__version__}"
    for nodes in options.nodes:
        graph, walks = load_graph(nodes), options.walks or SIZES.get(nodes, 2)
        measured = profile(graph, walks, options.blocks)
        if options.handover is not None:
            measured = measured._replace(handover=options.handover * 1e-9)
        one = predict(measured, 1)
        rows = []
        for workers in WORKERS:
            fraction = one / predict(measured, workers) / workers
            rows.append([nodes, workers, round(fraction, 3), TARGETS.get((nodes, workers))])
            print(
                f"{nodes:,} nodes, {workers} workers: {fraction * workers:.1f} times, {fraction:.2f} of each",
                flush=True,
            )
        work = sum(float(tasks.sum() + merges.sum()) for tasks, merges in measured.rounds)
        parts = {"rounds": work, **measured.shared, "serial": measured.serial}
        print({kind: round(value, 3) for kind, value in parts.items()}, measured[3:], flush=True)
        if options.blocks is None:
            save("scaling", "speed-up", ["nodes", "workers", "fraction", "target"], rows, program, key=2)
            shares = [[nodes, kind, round(value / one, 5)] for kind, value in parts.items()]
            save("scaling", "shares of one thread", ["nodes", "part", "share"], shares, program, key=2)
            costs = [[nodes, round(measured.handover * 1e9), round(measured.call * 1e6, 1)]]
            save("scaling", "costs", ["nodes", "ns to hand over", "us to begin a call"], costs, program, key=1)
            seconds = [min(measure_fit(graph, walks, threads) for _ in range(2)) for threads in (1, 2)]
            ratio = [[nodes, walks, *(round(value, 2) for value in seconds), round(one / predict(measured, 2) / 2, 3)]]
            columns = ["nodes", "walks", "one thread", "two threads", "predicted fraction of two"]
            save("scaling", "measured", columns, ratio, program, key=1)


if __name__ == "__main__":
    main()
