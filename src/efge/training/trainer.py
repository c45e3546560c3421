"""Training in memory: walks go through the SGD kernel in rounds, with a falling learning rate and held-out evaluation.

The gradient of a family is tabulated before training, as cubic splines that are accurate to about six digits. The
kernel therefore never calls a family, and trains all of them, a user's own included, by the same machine code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter

import numpy as np
import numpy.typing as npt

from efge.errors import TrainingError
from efge.families.base import Family
from efge.families.tables import spline_table
from efge.kernels import sgd as kernel
from efge.kernels import sgd_reference as reference_kernel
from efge.kernels.sgd_rows import Workspace
from efge.kernels.sgd_step import DIVERGED, MAX_OBSERVATIONS, MAX_PATH_OBSERVATIONS, MAX_ROWS
from efge.progress import Progress
from efge.random import stream_key
from efge.training.checkpoints import CheckpointManager, Checkpoints, TrainingState, run_identity
from efge.training.corpus import Corpus, Source
from efge.training.huffman import NO_TREE, huffman
from efge.training.learning_rate import LearningRate
from efge.training.monitor import HeldOutMonitor, HeldOutSample, PairSettings, held_out_sample
from efge.training.noise import alias_table, contexts_per_group, noise_weights, pool_size, rows_per_step
from efge.training.settings import Settings
from efge.training.tables import Floats, StartVectors, initial_tables, starts_from_factors, strip_padding
from efge.training.workers import Threads
from efge.training.workspace import make_workspace, merge_scale, rounds_per_chunk

# Chunks of a held-out sample that threads share.
_EVALUATION_CHUNKS = 8
# Chunks that would take less time than this are trained together.
_SECONDS_PER_CALL = 0.2


@dataclass
class Trained:
    """Vectors of nodes as centers and as contexts, visits of nodes, the state of training, and its held-out pairs."""

    centers: Floats
    contexts: Floats
    visits: npt.NDArray[np.int64]
    total_pairs: int  # of all walks
    state: TrainingState = field(default_factory=TrainingState)
    held_out: HeldOutSample = field(default_factory=lambda: np.empty((0, 2), np.int64))

    @property
    def history(self) -> dict[str, list[float]]:
        """Number of trained pairs, and mean log-likelihood of held-out pairs, at each evaluation."""
        return self.state.history

    @property
    def fraction(self) -> float:
        """The fraction of all walks that was trained on."""
        return self.history["pairs"][-1] / max(self.total_pairs, 1) if self.total_pairs else 1.0


@dataclass(frozen=True)
class _Run:
    """A training run: its walks, family and settings, and what the kernels need."""

    corpus: Corpus
    family: Family
    settings: Settings
    model: kernel.Model
    config: kernel.SGDConfig
    workspace: Workspace
    learning_rate: LearningRate  # by positions

    @property
    def n_blocks(self) -> int:
        """Number of blocks in a round."""
        return len(self.workspace.current.bounds)

    @property
    def tables(self) -> tuple[Floats, Floats]:
        """Centers and contexts of all nodes, with padding but without copies."""
        n_nodes = self.workspace.n_nodes
        return self.model.centers[:n_nodes], self.model.contexts[:n_nodes]


def train(
    walks: Source,
    family: Family,
    settings: Settings,
    progress: Callable[[Progress], None] | None = None,
    checkpoints: Checkpoints | None = None,
    mapped_in: Path | None = None,
    start: StartVectors | None = None,
) -> Trained:
    """Train vectors for the nodes of a graph from its walks; with checkpoints, resume an earlier run.

    With `start`, training starts from given vectors. Tables are in memory, or in files of the folder `mapped_in` that
    the system reads and writes as it needs them.
    """
    settings.check()
    corpus = Corpus(walks, settings.window, settings.epochs)
    run = _prepare(corpus, family, settings, mapped_in, start=start)
    centers, contexts = run.tables
    trained = Trained(centers[:, : settings.dim], contexts[:, : settings.dim], corpus.visits, corpus.pairs)
    begun = {} if start is None else {"start": start.digest()}
    identity = asdict(settings) | begun
    manager = CheckpointManager(checkpoints, lambda: run_identity(walks, corpus.visits, family, identity))
    with Threads(walks.threads) as threads, manager.session():
        monitor = _make_monitor(run, threads)
        trained.held_out = monitor.sample
        monitor.state = trained.state = run.learning_rate.state = manager.restore((trained.centers, trained.contexts))
        _train_chunks(run, trained, threads, monitor, manager, progress or (lambda report: None))
    trained.centers, trained.contexts = _final_tables(run)
    return trained


def _prepare(
    corpus: Corpus,
    family: Family,
    settings: Settings,
    mapped_in: Path | None = None,
    n_blocks: int | None = None,
    start: StartVectors | None = None,
) -> _Run:
    """Build the tables and everything else that the kernels need; `n_blocks` overrides the blocks of a round."""
    tree = huffman(corpus.visits, stream_key(corpus.walks.seed, 0, "huffman")) if settings.softmax else NO_TREE
    splines = spline_table(family, "gradient")
    visits = corpus.visits if start is None or start.visits is None else start.visits
    noise = alias_table(noise_weights(visits, settings.noise_power))
    config = _make_config(corpus, family, settings, splines)
    workspace = make_workspace(corpus, config, tree, settings, n_blocks)
    tables = initial_tables(corpus.walks, family, settings, len(workspace.current.row_location), mapped_in, start)
    scale = merge_scale(corpus, tree, len(workspace.current.bounds))
    model = kernel.Model(*tables, splines, *noise, *tree, scale)
    learned = start is not None or starts_from_factors(corpus.walks.graph, family, settings)
    rate = LearningRate.of(settings, family, corpus.positions, learned)
    return _Run(corpus, family, settings, model, config, workspace, rate)


def _make_config(corpus: Corpus, family: Family, settings: Settings, splines: Floats) -> kernel.SGDConfig:
    rate = float(settings.learning_rate)
    low, high = map(float, family.bounds)
    group_size = contexts_per_group(settings, corpus.walks.graph, family)
    # Exactly these types: any other would make the kernel compile again.
    return kernel.SGDConfig(
        window=int(settings.window),
        negatives=int(settings.negatives),
        group_size=group_size,
        pool_size=pool_size(settings, corpus.pairs / max(corpus.positions, 1), len(corpus.visits), group_size),
        rows_per_step=MAX_ROWS if settings.softmax else rows_per_step(corpus.walks.graph, family),
        max_observations=MAX_PATH_OBSERVATIONS if settings.softmax else MAX_OBSERVATIONS,
        learning_rate=rate,
        rate_decay=(rate - float(settings.min_learning_rate)) / max(corpus.positions, 1),
        floor=0.0 if family.nonnegative else -np.inf,
        score_min=low,
        spline_scale=(splines.shape[1] - 1) / (high - low),
    )


def _make_monitor(run: _Run, threads: Threads) -> HeldOutMonitor:
    """Return a monitor whose evaluations are shared by threads."""
    model, config = run.model, run.config
    log_probs, scale = log_prob_table(run.family)

    def chunk_log_likelihood(sample: HeldOutSample) -> float:
        tables = model.centers, model.contexts
        if len(model.path_starts):
            return float(reference_kernel.mean_path_log_likelihood(*tables, sample, model.path_starts, model.paths))
        return float(reference_kernel.mean_log_likelihood(*tables, sample, log_probs, config.score_min, scale))

    def log_likelihood(sample: HeldOutSample) -> float:
        chunks = [chunk for chunk in np.array_split(sample, _EVALUATION_CHUNKS) if len(chunk)]
        return float(np.average(threads.map(chunk_log_likelihood, chunks), weights=[len(chunk) for chunk in chunks]))

    pair_settings = PairSettings(config.window, config.negatives)
    sample = held_out_sample(run.corpus.walks, pair_settings, (model.prob, model.alias))
    return HeldOutMonitor(sample, run.corpus.pairs, log_likelihood, run.settings.evaluations)


def log_prob_table(family: Family) -> tuple[Floats, float]:
    """Return a family's log-densities as cubic splines, and the number of their intervals per unit of score."""
    log_probs = spline_table(family, "log_prob")
    return log_probs, (log_probs.shape[1] - 1) / (family.bounds[1] - family.bounds[0])


def _train_chunks(
    run: _Run,
    trained: Trained,
    threads: Threads,
    monitor: HeldOutMonitor,
    manager: CheckpointManager,
    report: Callable[[Progress], None],
) -> None:
    """Train the corpus chunk by chunk; in between, evaluate, report, save, and stop early if nothing improves."""
    corpus, patience, state, rate = run.corpus, run.settings.patience, trained.state, run.learning_rate
    if not state.chunks_done:
        monitor.evaluate(0)
    pairs, done = int(state.history["pairs"][-1]), 0
    report(Progress(pairs, _expected_pairs(run), monitor.last_log_likelihood))
    rounds = rounds_per_chunk(corpus, run.n_blocks, run.model.centers.shape[1])
    pending = _PendingChunks()
    for number, (work, pairs) in enumerate(corpus.chunks(rounds, run.n_blocks), 1):
        begin, done = done, work.first_position + int(work.offsets[work.blocks[-1]])
        if number <= manager.restored_chunks:
            continue
        if begin >= rate.end() or (patience is not None and state.evaluations_since_best >= patience):
            break
        pending.add(work, begin, done)
        is_due = pairs >= monitor.next_evaluation or done >= rate.end()
        if not (is_due or pending.are_complete(rate.end())):
            continue
        first_block = pending.train(run, threads)
        if run.workspace.counters[DIVERGED]:
            place = f"round {first_block // run.n_blocks} or soon after it"
            raise divergence_error(run.family, run.settings, place, trained)
        if is_due:
            monitor.evaluate(pairs)
            rate.update(done)
        state.chunks_done = number
        report(Progress(pairs, max(pairs, _expected_pairs(run)), monitor.last_log_likelihood))
        manager.save_if_due(state, (trained.centers, trained.contexts))


class _PendingChunks:
    """Consecutive chunks of a batch, to be trained by one call of the kernel.

    Every call costs each thread some time, so that chunks which all threads together train fast wait for others. They
    have the same rounds and learning rates as if each were trained by itself: the clock changes no bit.
    """

    def __init__(self) -> None:
        self.works: list[kernel.Work] = []
        self.begin = self.last_begin = self.end = 0
        self.seconds_per_position = np.inf

    def add(self, work: kernel.Work, begin: int, end: int) -> None:
        """Add the chunk from one position of the walks to another."""
        self.begin = self.begin if self.works else begin
        self.works.append(work)
        self.last_begin, self.end = begin, end

    def are_complete(self, last: int) -> bool:
        """Return whether these chunks are to be trained without waiting for the next one.

        The next one is not of the same batch, or may go beyond the `last` position; or there is enough to do.
        """
        work = self.works[-1]
        is_end = work.blocks[-1] == len(work.offsets) - 1 or 2 * self.end - self.last_begin >= last
        return is_end or (self.end - self.begin) * self.seconds_per_position >= _SECONDS_PER_CALL

    def train(self, run: _Run, threads: Threads) -> int:
        """Train all chunks, as one; return the number of their first block."""
        first_block = int(self.works[0].first_block)
        blocks = [self.works[0].blocks[:1], *(work.blocks[1:] for work in self.works)]
        start = perf_counter()
        _train_chunk(
            run,
            self.works[0]._replace(blocks=np.concatenate(blocks)),
            threads,
            _chunk_config(run, self.begin, self.end),
        )
        self.seconds_per_position = (perf_counter() - start) / max(self.end - self.begin, 1)
        self.works.clear()
        return first_block


def _expected_pairs(run: _Run) -> int:
    """Return the number of pairs that will be trained, as far as it is known."""
    return round(run.corpus.pairs * run.learning_rate.end() / max(run.corpus.positions, 1))


def _chunk_config(run: _Run, begin: int, end: int) -> kernel.SGDConfig:
    """Return the settings of the steps from one position to another."""
    if not run.settings.until_converged:
        return run.config
    rate, decay = run.learning_rate.line(begin, end)
    return run.config._replace(learning_rate=rate, rate_decay=decay)


def _train_chunk(run: _Run, work: kernel.Work, threads: Threads, config: kernel.SGDConfig) -> None:
    """Train a chunk by the kernel of the settings; if vectors become NaN or infinite, count that in the workspace."""
    model, workspace = run.model, run.workspace
    if run.settings.trainer == "reference":
        before = model.centers.copy(), model.contexts.copy()
        if not reference_kernel.train_reference(work, model, config):
            workspace.counters[DIVERGED] += 1
            model.centers[:], model.contexts[:] = before
        return
    max_threads = min(run.n_blocks, len(work.blocks) - 1)
    threads.run(
        lambda thread, count: kernel.train(thread, count, work, model, config, workspace),
        workspace.counters,
        max_threads,
    )


def _final_tables(run: _Run) -> tuple[Floats, Floats]:
    """Return centers and contexts without padding, in the memory of the tables."""
    centers, contexts = run.tables
    dense = strip_padding(centers, run.settings.dim)
    return dense, strip_padding(contexts, run.settings.dim)


def divergence_error(family: Family, settings: Settings, place: str, trained: Trained) -> TrainingError:
    """Return the error of vectors that became NaN or infinite at some place of the training."""
    return TrainingError(
        f"{family!r}: the vectors became NaN or infinite in {place}; lower learning_rate"
        f" (it is {settings.learning_rate:g}) or narrow the family's bounds (they are {family.bounds}); the vectors"
        " learned before are in embedding_",
        trained,
    )
