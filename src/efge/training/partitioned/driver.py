"""Partitioned training: runs waves, held-out evaluations and checkpoints on an engine.

The schedule says what is done, and in which order as far as the result depends on it; an engine does it, in files on
this machine or on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Protocol

import numpy as np

from efge.errors import GraphError
from efge.families.base import Family
from efge.kernels import sgd_reference as reference_kernel
from efge.progress import Progress
from efge.training.checkpoints import CheckpointManager, Checkpoints, Table, run_identity
from efge.training.learning_rate import LearningRate
from efge.training.monitor import AliasTable, HeldOutMonitor, HeldOutSample, PairSettings, held_out_sample
from efge.training.noise import alias_table, noise_weights
from efge.training.partitioned.buckets import BucketConfig, make_bucket_config, partition_noise
from efge.training.partitioned.files import CENTERS, CONTEXTS
from efge.training.partitioned.partitioning import Counts, Partitioning
from efge.training.partitioned.schedule import Bucket, Walker, Waves, plan_waves
from efge.training.settings import Settings
from efge.training.tables import Floats, starts_from_factors
from efge.training.trainer import Trained, divergence_error, log_prob_table
from efge.walks.strategies import CorpusWalk
from efge.walks.walks import Walks

# Held-out pairs are evaluated in chunks whose rows have about this many entries, so that few rows are in memory.
_ENTRIES_PER_CHUNK = 1 << 19


@dataclass(frozen=True)
class PartitionedRun:
    """What an engine trains: the walks of each wave, the partitions of the nodes, and what all buckets share."""

    walker: Walker
    waves: Waves
    pairs: list[int]  # of each wave
    partitioning: Partitioning
    config: BucketConfig
    noise: Callable[[int], AliasTable]  # of a partition of contexts
    learning_rate: LearningRate  # by pairs

    def bucket(self, wave: int, sub_wave: int, partitions: tuple[int, int]) -> Bucket:
        """Return the bucket of a wave for a partition of centers and one of contexts."""
        before = sum(self.pairs[:wave])
        rates = self.learning_rate.at(before), self.learning_rate.at(before + self.pairs[wave])
        return Bucket(wave, sub_wave, *partitions, *rates)


class DivergedError(Exception):
    """Vectors became NaN or infinite while a bucket was trained."""


class Engine(AbstractContextManager["Engine"], Protocol):
    """Does the work: counts the visits of walks, stores the partitions of both tables, trains waves."""

    def count_visits(self, walker: Walker, waves: Waves, window: int) -> tuple[Counts, list[int]]:
        """Return how often all walks visit each node, and the number of pairs of each wave."""

    def begin(self, run: PartitionedRun) -> None:
        """Create the initial partitions of both tables."""

    def train(self, wave: int) -> Iterator[float]:
        """Train a wave, and yield the fraction of it that is done from time to time."""

    def rows(self, table: int, nodes: list[Counts]) -> Iterator[Floats]:
        """Yield the rows of each list of nodes, of the centers or the contexts."""

    def saved_tables(self) -> Iterable[Table]:
        """Return the vectors of all partitions one after the other, centers first."""

    def restored_tables(self) -> Iterable[Table]:
        """Return tables to fill with the vectors of all partitions, in the same order, one after the other."""

    def collect(self) -> tuple[Floats, Floats]:
        """Return centers and contexts in the order of the graph's nodes."""


def train_partitioned(
    walks: Walks,
    family: Family,
    settings: Settings,
    engine: Engine,
    progress: Callable[[Progress], None] | None = None,
    checkpoints: Checkpoints | None = None,
) -> Trained:
    """Train as `trainer.train` does, but in partitions: the result depends on their number, not on the engine."""
    settings.check()
    _check_supported(walks, family, settings)
    with engine:
        waves = plan_waves(walks, settings)
        visits, pairs = engine.count_visits(Walker.of(walks), waves, int(settings.window))
        run = _make_run(walks, waves, pairs, visits, family, settings)
        engine.begin(run)
        monitor = _make_monitor(walks, run, engine, visits, family, settings)
        manager = CheckpointManager(checkpoints, lambda: run_identity(walks, visits, family, asdict(settings)))
        try:
            with manager.session():
                monitor.state = run.learning_rate.state = manager.restore(engine.restored_tables())
                _train_waves(run, engine, monitor, manager, settings.patience, progress or (lambda report: None))
        except DivergedError:
            trained = Trained(*engine.collect(), visits, sum(pairs), monitor.state, monitor.sample)
            raise divergence_error(family, settings, f"wave {monitor.state.chunks_done}", trained) from None
        return Trained(*engine.collect(), visits, sum(pairs), monitor.state, monitor.sample)


def _check_supported(walks: Walks, family: Family, settings: Settings) -> None:
    """Refuse what cannot be trained in partitions."""
    starts_from_factors(walks.graph, family, settings)
    if settings.trainer != "fast":
        raise ValueError(f"with partitions, the trainer is 'fast'; got {settings.trainer!r}")
    if settings.softmax:
        raise ValueError("with partitions, training uses negative sampling")
    if isinstance(walks.strategy, CorpusWalk):
        raise GraphError("with partitions, walks are made from the graph while training; a corpus cannot be used")


def _make_run(
    walks: Walks, waves: Waves, pairs: list[int], visits: Counts, family: Family, settings: Settings
) -> PartitionedRun:
    assert settings.partitions is not None
    partitioning = Partitioning.of(walks.graph, visits, int(settings.partitions))
    config = make_bucket_config(partitioning, visits, sum(pairs), walks, family, settings)
    rate = LearningRate.of(settings, family, sum(pairs), from_factors=False)

    def noise(partition: int) -> AliasTable:
        return partition_noise(partitioning, visits, settings.noise_power, partition)

    return PartitionedRun(Walker.of(walks), waves, pairs, partitioning, config, noise, rate)


def _make_monitor(
    walks: Walks, run: PartitionedRun, engine: Engine, visits: Counts, family: Family, settings: Settings
) -> HeldOutMonitor:
    noise = alias_table(noise_weights(visits, settings.noise_power))
    pair_settings = PairSettings(int(settings.window), int(settings.negatives))
    log_probs, scale = log_prob_table(family)

    def log_likelihood(sample: HeldOutSample) -> float:
        return _held_out_log_likelihood(engine, run.config, log_probs, scale, sample)

    return HeldOutMonitor(held_out_sample(walks, pair_settings, noise), sum(run.pairs), log_likelihood)


def _train_waves(
    run: PartitionedRun,
    engine: Engine,
    monitor: HeldOutMonitor,
    manager: CheckpointManager,
    patience: int | None,
    report: Callable[[Progress], None],
) -> None:
    state, rate = monitor.state, run.learning_rate

    def report_at(pairs: int) -> None:
        # The last wave may end beyond the last step of the learning rate.
        report(Progress(pairs, max(pairs, rate.end()), monitor.last_log_likelihood))

    if not state.chunks_done:
        monitor.evaluate(0)
    pairs = sum(run.pairs[: state.chunks_done])
    report_at(pairs)
    for wave in range(state.chunks_done, len(run.waves)):
        if pairs >= rate.end() or (patience is not None and state.evaluations_since_best >= patience):
            break
        for fraction in engine.train(wave):
            if fraction < 1:
                report_at(pairs + int(fraction * run.pairs[wave]))
        pairs += run.pairs[wave]
        if pairs >= min(monitor.next_evaluation, rate.end()):
            monitor.evaluate(pairs)
            rate.update(pairs)
        state.chunks_done = wave + 1
        report_at(pairs)
        manager.save_if_due(state, engine.saved_tables())


def _held_out_log_likelihood(
    engine: Engine, config: BucketConfig, log_probs: Floats, scale: float, sample: HeldOutSample
) -> float:
    """Return the mean log-likelihood of held-out pairs and their negatives, fetching few rows at a time."""
    size = max(1, _ENTRIES_PER_CHUNK // (config.width * sample.shape[1]))
    chunks = [sample[begin : begin + size] for begin in range(0, len(sample), size)]
    centers = [np.unique(chunk[:, 0], return_inverse=True) for chunk in chunks]
    contexts = [np.unique(chunk[:, 1:], return_inverse=True) for chunk in chunks]
    tables = zip(
        engine.rows(CENTERS, [nodes for nodes, _ in centers]),
        engine.rows(CONTEXTS, [nodes for nodes, _ in contexts]),
        strict=True,
    )
    total = 0.0
    for chunk, (_, center_rows), (_, context_rows), rows in zip(chunks, centers, contexts, tables, strict=True):
        renumbered = np.column_stack([center_rows.reshape(-1), context_rows.reshape(len(chunk), -1)])
        value = reference_kernel.mean_log_likelihood(*rows, renumbered, log_probs, config.bounds[0], scale)
        total += float(value) * len(chunk)
    return total / len(sample)
