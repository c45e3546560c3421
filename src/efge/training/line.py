"""Training of LINE: batches of sampled edges go through its kernel, with a falling learning rate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from efge.errors import TrainingError, check_positive_integers
from efge.families.builtin import Bernoulli
from efge.families.tables import spline_table
from efge.kernels import line as kernel
from efge.kernels.line import EdgeBatch, EdgeConfig, EdgeModel
from efge.kernels.random import fill_uniform
from efge.kernels.sgd_reference import mean_log_likelihood
from efge.kernels.sgd_step import DIVERGED, N_COUNTERS
from efge.parallel import compute_ahead
from efge.progress import Progress
from efge.random import stream_key
from efge.training.edges import EdgeSampler
from efge.training.monitor import HELD_OUT_PAIRS, HeldOutMonitor, HeldOutSample, add_negatives
from efge.training.noise import alias_table
from efge.training.settings import check_learning_rates
from efge.training.tables import Floats, allocate_table, strip_padding
from efge.training.trainer import log_prob_table
from efge.training.workers import Threads


@dataclass(frozen=True)
class EdgeSettings:
    """Hyper-parameters of training on edges; :class:`efge.LINE` explains them."""

    dim: int
    negatives: int
    learning_rate: float
    min_learning_rate: float
    one_table: bool  # nodes have the same vector as centers and as contexts


@dataclass(frozen=True)
class TrainedEdges:
    """Vectors of nodes as centers and as contexts, and the history of held-out edges."""

    centers: Floats
    contexts: Floats
    history: dict[str, list[float]]


def train_edges(edges: EdgeSampler, settings: EdgeSettings, progress: Callable[[Progress], None]) -> TrainedEdges:
    """Train vectors for the nodes of a graph from edges sampled at random."""
    check_positive_integers(dim=settings.dim, negatives=settings.negatives)
    check_learning_rates(settings.learning_rate, settings.min_learning_rate)
    model = _make_model(edges, settings)
    counters, done = np.zeros(N_COUNTERS + edges.n_cells, np.int64), 0
    monitor = _make_monitor(edges, settings, model)
    monitor.evaluate(0)
    progress(Progress(0, edges.samples, monitor.last_log_likelihood))
    with Threads(edges.threads) as threads:
        for batch in compute_ahead(edges.batches()):
            config = _make_config(
                settings, model, done / edges.samples, len(batch.edges) / edges.samples, edges.n_cells
            )
            _train_batch(batch, model, config, threads, counters)
            if counters[DIVERGED]:
                raise TrainingError(
                    f"the vectors became NaN or infinite; lower learning_rate (it is {settings.learning_rate:g})"
                )
            done += len(batch.edges)
            if done >= monitor.next_evaluation or done == edges.samples:
                monitor.evaluate(done)
            progress(Progress(done, edges.samples, monitor.last_log_likelihood))
    centers = strip_padding(model.centers, settings.dim)
    contexts = centers if settings.one_table else strip_padding(model.contexts, settings.dim)
    return TrainedEdges(centers, contexts, monitor.state.history)


def _make_model(edges: EdgeSampler, settings: EdgeSettings) -> EdgeModel:
    """Return initial vectors: small random numbers for centers, and zeros for contexts."""
    n_nodes, dim = edges.graph.n_nodes, settings.dim
    centers = allocate_table(n_nodes, dim)
    fill_uniform(stream_key(edges.seed, 0, "centers"), centers, 0, n_nodes, dim, -0.5 / dim, 0.5 / dim)
    contexts = centers if settings.one_table else allocate_table(n_nodes, dim)
    return EdgeModel(centers, contexts, spline_table(Bernoulli(), "gradient"))


def _train_batch(
    batch: EdgeBatch, model: EdgeModel, config: EdgeConfig, threads: Threads, counters: npt.NDArray[np.int64]
) -> None:
    """Train a batch in all threads; if vectors become NaN or infinite, count that."""
    n_cells = len(batch.cells) - 1
    threads.run(lambda thread, count: kernel.train(thread, count, batch, model, config, counters), counters, n_cells)


def _make_config(settings: EdgeSettings, model: EdgeModel, begin: float, share: float, turns: int) -> EdgeConfig:
    """Return the settings of a batch that begins after a part of all edges, and has a share of them."""
    low, high = map(float, Bernoulli().bounds)
    fall = float(settings.learning_rate - settings.min_learning_rate)
    return EdgeConfig(
        one_table=settings.one_table,
        negatives=int(settings.negatives),
        learning_rate=float(settings.learning_rate) - fall * begin,
        rate_decay=fall * share / turns,
        score_min=low,
        spline_scale=(model.splines.shape[1] - 1) / (high - low),
    )


def _make_monitor(edges: EdgeSampler, settings: EdgeSettings, model: EdgeModel) -> HeldOutMonitor:
    family = Bernoulli()
    log_probs, scale = log_prob_table(family)
    pairs = edges.held_out(HELD_OUT_PAIRS).astype(np.int64)
    sample = add_negatives(pairs, int(settings.negatives), alias_table(edges.noise), edges.seed)

    def log_likelihood(sample: HeldOutSample) -> float:
        low = float(family.bounds[0])
        return float(mean_log_likelihood(model.centers, model.contexts, sample, log_probs, low, scale))

    return HeldOutMonitor(sample, edges.samples, log_likelihood)
