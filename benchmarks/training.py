"""Pairs a second of training beside gensim's, on an identical corpus, in runs that take turns; memory; equal bits.

    python benchmarks/training.py [--repeats 5] [--nodes 10000 200000]

Both read the same walks (10 nodes each) from the same file, and train the same pairs: the full window, 128 dimensions,
5 negatives for each pair. gensim trains by its compiled loop over a corpus file. For both the clock starts when the
words or nodes are counted and training begins, and stops when it ends; reading the file again is part of it. Each run
is a process of its own, and a short run before the clock starts takes compilation out of it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import networkx as nx
import numpy as np

import efge

WALKS_PER_NODE = {10_000: 20, 200_000: 2, 1_000_000: 1}
OWN = {
    "efge normal": "normal",
    "efge bernoulli": "bernoulli",
    "efge poisson": "poisson",
    "efge, a user's own": "own",
}


class OwnBernoulli(efge.Family):
    """A user's own family, in plain Python."""

    domain = "binary"

    def log_partition(self, eta: Any) -> Any:
        """Logarithm of 1 + exp(eta)."""
        return np.logaddexp(0.0, eta)

    def mean(self, eta: Any) -> Any:
        """The sigmoid."""
        return 1.0 / (1.0 + np.exp(-eta))


def peak() -> int:
    """Bytes of memory at the highest; ru_maxrss would count those of the process that started this one."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def run_efge(folder: Path, family: str, threads: int) -> dict[str, Any]:
    with np.load(folder / "graph.npz") as arrays:
        graph = efge.Graph(arrays["indptr"], arrays["indices"])
    chosen = OwnBernoulli() if family == "own" else family
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as small:
        small.write("0 1\n" * 200)
        small.flush()
        efge.EFGE(chosen).fit(efge.Walks([(0, 1)], efge.CorpusWalk(small.name), seed=0, threads=threads))
    before = peak()
    walks = efge.Walks(graph, efge.CorpusWalk(folder / "walks.txt"), seed=0, threads=threads)
    times: list[float] = []
    model = efge.EFGE(chosen).fit(walks, progress=lambda _: times.append(perf_counter()))
    seconds, memory = times[-1] - times[0], peak() - before
    digest = hashlib.sha256(np.ascontiguousarray(model.embedding_.vectors).tobytes()).hexdigest()
    pairs = model.history_["pairs"][-1]
    return {"seconds": seconds, "pairs": pairs, "digest": digest, "memory": memory}


def run_gensim(folder: Path, threads: int) -> dict[str, Any]:
    from gensim.models import Word2Vec

    model = Word2Vec(
        vector_size=128, window=10, min_count=0, sample=0, sg=1, hs=0, negative=5, ns_exponent=0.75, alpha=0.025,
        min_alpha=0.0001, workers=threads, shrink_windows=False, seed=0, batch_words=10_000,
    )  # fmt: skip
    path = str(folder / "walks.txt")
    model.build_vocab(corpus_file=path)
    before = peak()
    start = perf_counter()
    model.train(corpus_file=path, total_examples=model.corpus_count, total_words=model.corpus_total_words, epochs=1)
    return {"seconds": perf_counter() - start, "pairs": model.corpus_count * 90, "memory": peak() - before}


def run(tool: str, folder: Path, threads: int) -> dict[str, Any]:
    """In a process of its own."""
    command = [sys.executable, __file__, "--run", tool, "--folder", str(folder), "--threads", str(threads)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"{tool}: {done.stderr}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def write_corpus(folder: Path, nodes: int) -> None:
    graph = nx.barabasi_albert_graph(nodes, 5, seed=1)
    # Names in a random order: the order of a model's growth would be kind to the cache.
    shuffled = np.random.default_rng(0).permutation(nodes)
    built = efge.as_graph(shuffled[np.array(graph.edges)], nodes=range(nodes))
    np.savez(folder / "graph.npz", indptr=built.indptr, indices=built.indices)
    efge.Walks(built, walks_per_node=WALKS_PER_NODE[nodes], walk_length=10, seed=1).save(folder / "walks.txt")


def compare(folder: Path, nodes: int, options: argparse.Namespace) -> None:
    write_corpus(folder, nodes)
    answers: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for _ in range(options.repeats):
        for threads in (1, 2):
            for tool in ("gensim", *OWN):
                answers.setdefault((tool, threads), []).append(run(tool, folder, threads))
    rates = {case: [answer["pairs"] / answer["seconds"] / 1e6 for answer in runs] for case, runs in answers.items()}
    median = {case: statistics.median(values) for case, values in rates.items()}
    for tool, threads in answers:
        # Runs that took turns are compared with each other, as the machine's speed drifts.
        peer = [a / b for a, b in zip(rates[tool, threads], rates["gensim", threads], strict=True)]
        alone = [a / b for a, b in zip(rates[tool, threads], rates[tool, 1], strict=True)]
        cells = [f"{nodes:,}", tool, str(threads), f"{median[tool, threads]:.2f}"]
        cells += [f"{min(rates[tool, threads]):.2f} to {max(rates[tool, threads]):.2f}"]
        cells += [f"{statistics.median(peer):.1f}", f"{statistics.median(alone):.2f}"]
        memory = statistics.median(answer["memory"] for answer in answers[tool, threads]) / 2**20
        digests = {answer.get("digest", "-")[:12] for answer in answers[tool, threads]}
        print(f"| {' | '.join([*cells, f'{memory:.0f}', ' '.join(sorted(digests))])} |", flush=True)
    print(f"\nTwo tables of {nodes:,} nodes have {2 * nodes * 128 * 4 / 2**20:.0f} MB.\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--nodes", type=int, nargs="+", default=[10_000, 200_000])
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        is_peer = options.run == "gensim"
        answer = (
            run_gensim(options.folder, options.threads)
            if is_peer
            else run_efge(options.folder, OWN[options.run], options.threads)
        )
        print(json.dumps(answer))
        return
    for nodes in options.nodes:
        columns = ["nodes", "tool", "threads", "million pairs a second", "spread", "times gensim", "times one thread"]
        columns += ["MB more at the peak", "SHA-256 of the vectors"]
        print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
        with tempfile.TemporaryDirectory() as folder:
            compare(Path(folder), nodes, options)


if __name__ == "__main__":
    main()
