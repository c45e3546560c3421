"""Training: rounds of walks through the kernel, with a falling learning rate and an eye on pairs held apart.

The slope of a family is tabulated before training, as cubic polynomials that are right to about six digits.
The kernel therefore never calls a family, and trains all of them, a user's own included, by the same machine code.
"""

from __future__ import annotations

import math
import warnings
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from efge.errors import TrainingError
from efge.families.base import Family
from efge.families.tables import cubics
from efge.io.atomic import mapped
from efge.kernels import sgd as kernel
from efge.kernels import sgd_reference as plain
from efge.kernels import sgd_step as steps
from efge.kernels.random import alias_tables
from efge.kernels.simd import ABREAST, CHUNK
from efge.parallel import map_ahead
from efge.progress import Progress
from efge.random import stream_key
from efge.training.checkpoints import Checkpoints, Keeper, State, identity
from efge.training.corpus import Corpus, Source
from efge.training.huffman import NO_TREE, Tree, huffman
from efge.training.monitor import LOOKS, Alias, Look, Reach, Sample
from efge.training.settings import Settings
from efge.training.workers import Threads

Floats = npt.NDArray[np.float32]

# Between two merges of a round, an average node is a center so often, and the most frequent one so often.
AVERAGE_VISITS, MOST_VISITS = 0.1, 4.0
# Where a place of a tree is seen more often in a round, its blocks' differences are averaged rather than added.
_MOST_SEEN = 36.0
# Blocks in a round at most, and the room for their copies, which should stay in the cache.
MOST_BLOCKS, MOST_BYTES = 64, 1 << 25
# Contexts that share their negatives at most; the smallest and largest pool of negatives.
_MOST_TOGETHER, _POOLS = 4, (16, 512)
# How often a negative of a pool is used, in a graph of few nodes and of many: more often is faster, as fewer rows are
# fetched, but in a graph of some thousand nodes it was seen to cost some thousandths of a score.
_USES, _NODES_FOR_A_USE = (3.4, 20.0), 600
# Work between two reports of progress, in multiplications; some tenths of a second.
_PIECE = 1 << 28
# Parts of a look that threads share.
_PARTS_OF_A_LOOK = 8
# Rows that are copied at once.
_ROWS_AT_ONCE = 1 << 14
# Entries of vectors seldom exceed 3, and no sound training has brought them so far.
_WILD = 100.0


@dataclass
class Trained:
    """Vectors of nodes as centers and as contexts, and what the pairs held apart said on the way."""

    centers: Floats
    contexts: Floats
    state: State = field(default_factory=State)

    @property
    def history(self) -> dict[str, list[float]]:
        """Pairs trained, and the mean log-likelihood of those held apart."""
        return self.state.history


def train(
    walks: Source,
    family: Family,
    settings: Settings,
    progress: Callable[[Progress], None] | None = None,
    checkpoints: Checkpoints | None = None,
    mapped_in: Path | None = None,
) -> Trained:
    """Vectors for the nodes of a graph from its walks; with checkpoints, from where an earlier training was.

    Tables are in memory, or in files of the folder `mapped_in` that the system reads and writes as it needs them.
    """
    settings.check()
    corpus = Corpus(walks, settings.window, settings.epochs, settings.stars)
    tree = huffman(corpus.visits) if settings.softmax else NO_TREE
    slopes, noise = cubics(family, "slope"), _noise(corpus.visits, settings.noise_power)
    plan = _plan(corpus, family, settings, slopes)
    room = _room(corpus, plan, tree, settings)
    whole = _tables(walks, family, settings, len(room.now.places), mapped_in)
    centers, contexts = (table[: room.nodes] for table in whole)
    model = kernel.Model(*whole, slopes, *noise, *tree, _shares(corpus, tree, room))
    trained = Trained(centers[:, : settings.dim], contexts[:, : settings.dim])
    keeper = Keeper(checkpoints, lambda: identity(walks, corpus.visits, family, asdict(settings)))
    tables = trained.centers, trained.contexts
    tell = progress or (lambda at: None)
    with Threads(walks.threads) as threads, keeper.watching():
        look = _look(corpus, family, model, plan, threads)
        look.state = trained.state = keeper.begin(tables)
        if not look.state.pieces:
            look(0)
        tell(Progress(0, corpus.pairs, look.last))
        for number, (work, pairs) in enumerate(corpus.pieces(_piece_size(corpus, room, centers.shape[1])), 1):
            if number <= keeper.done:
                continue
            if settings.patience is not None and look.state.since_best >= settings.patience:
                break
            _run(threads, work, model, plan, room, settings)
            if room.signals[steps.BROKEN]:
                place = f"round {int(work.first_block) // len(room.now.counts)} or soon after it"
                raise diverged(family, settings, place, trained)
            if pairs >= look.due or pairs == corpus.pairs:
                look(pairs)
            look.state.pieces = number
            tell(Progress(pairs, corpus.pairs, look.last))
            keeper.keep(trained.state, tables)
    trained.centers = _dense(centers, settings.dim)
    trained.contexts = trained.centers if settings.one_table else _dense(contexts, settings.dim)
    _point_out_wildness(family, settings, trained)
    return trained


def _look(corpus: Corpus, family: Family, model: kernel.Model, plan: kernel.Plan, threads: Threads) -> Look:
    log_probs, scale = log_probs_of(family)

    def likelihood(sample: Sample) -> float:
        tables = model.centers, model.contexts
        if len(model.path_starts):
            return float(plain.mean_path_log_likelihood(*tables, sample, model.path_starts, model.paths))
        return float(plain.mean_log_likelihood(*tables, sample, log_probs, plan.low, scale))

    def measure(sample: Sample) -> float:
        some = [part for part in np.array_split(sample, _PARTS_OF_A_LOOK) if len(part)]
        return float(np.average(threads.share(likelihood, some), weights=[len(part) for part in some]))

    reach = Reach(plan.window, plan.stars, plan.negatives)
    return Look(corpus.walks, reach, (model.keep, model.other), corpus.pairs, measure)


def log_probs_of(family: Family) -> tuple[npt.NDArray[np.float32], float]:
    """Logarithms of a family's densities as cubic polynomials, and how many cells a score of 1 has."""
    log_probs = cubics(family, "log_prob")
    return log_probs, (log_probs.shape[1] - 1) / (family.bounds[1] - family.bounds[0])


def _run(
    threads: Threads,
    work: kernel.Work,
    model: kernel.Model,
    plan: kernel.Plan,
    room: steps.Room,
    settings: Settings,
) -> None:
    if settings.trainer == "reference":
        before = model.centers.copy(), model.contexts.copy()
        if not plain.train_plainly(work, model, plan):
            room.signals[steps.BROKEN] += 1
            model.centers[:], model.contexts[:] = before
        return
    at_once = min(len(room.now.counts), len(work.blocks) - 1)
    threads.run(lambda thread, count: kernel.train(thread, count, work, model, plan, room), room.signals, at_once)


def diverged(family: Family, settings: Settings, place: str, trained: Trained) -> TrainingError:
    """What to say when vectors left the finite numbers at some place of the training."""
    return TrainingError(
        f"{family!r}: the vectors left the finite numbers in {place}; lower learning_rate"
        f" (it is {settings.learning_rate:g}) or narrow the family's bounds (they are {family.bounds}); what was"
        " learned before is kept in embedding_",
        trained,
    )


def _point_out_wildness(family: Family, settings: Settings, trained: Trained) -> None:
    """Say so where steps were so large that they threw vectors about."""
    first, last = (trained.history["log_likelihood"][i] for i in (0, -1))
    largest = max(trained.centers.max(initial=0.0), -trained.centers.min(initial=0.0))
    if last < first and largest > _WILD:
        warnings.warn(
            f"{family!r}: pairs held apart are less likely after training than before, and the vectors are huge; lower"
            f" learning_rate (it is {settings.learning_rate:g})",
            RuntimeWarning,
            stacklevel=4,
        )


def _tables(
    walks: Source, family: Family, settings: Settings, copies: int = 0, mapped_in: Path | None = None
) -> tuple[Floats, Floats]:
    """Centers a little around zero and contexts at zero; where they may not be negative, both above it.

    After the rows of all nodes there is room for copies.
    """
    make = np.zeros if mapped_in is None else _mapped_floats(mapped_in)
    nodes = walks.graph.n_nodes
    centers, contexts = (aligned(nodes + copies, settings.dim, make) for _ in range(2))
    keys = [stream_key(walks.seed, 0, purpose) for purpose in ("centers", "contexts")]
    around = (0.0, settings.dim**-0.5) if family.nonnegative else (-0.5 / settings.dim, 0.5 / settings.dim)

    def fill(begin: int) -> None:
        end = min(begin + _ROWS_AT_ONCE, nodes)
        plain.spread(keys[0], centers, begin, end, settings.dim, *around)
        if family.nonnegative:
            plain.spread(keys[1], contexts, begin, end, settings.dim, *around)
        elif mapped_in is None and not settings.one_table:
            # Memory that was never written to is found only now, which takes longer than to train from it.
            contexts[begin:end] = 0.0

    deque(map_ahead(fill, range(0, nodes, _ROWS_AT_ONCE), walks.threads), maxlen=0)
    return centers, centers if settings.one_table else contexts


def _mapped_floats(folder: Path) -> Callable[..., Floats]:
    def make(count: int, dtype: type[np.float32]) -> Floats:
        return np.frombuffer(mapped(folder, 4 * count), dtype)

    return make


def aligned(rows: int, dim: int, make: Callable[..., Floats] = np.zeros) -> Floats:
    """A table of zeros, or of what `make` makes, whose rows begin at cache lines."""
    width = math.ceil(dim / CHUNK) * CHUNK
    raw = make(rows * width + CHUNK, np.float32)
    skip = -raw.ctypes.data // raw.itemsize % CHUNK
    return raw[skip : skip + rows * width].reshape(rows, width)


def _dense(table: Floats, dim: int) -> Floats:
    """The same rows without their padding, in the same place: a copy might not fit."""
    flat, rows = table.reshape(-1), len(table)
    for begin in range(0, rows if dim < table.shape[1] else 0, _ROWS_AT_ONCE):
        some = table[begin : begin + _ROWS_AT_ONCE, :dim].copy()
        flat[begin * dim : begin * dim + some.size] = some.reshape(-1)
    return flat[: rows * dim].reshape(rows, dim)


def _noise(visits: npt.NDArray[np.int64], power: float) -> Alias:
    """The alias table of the noise."""
    return alias_table(noise_weights(visits, power))


def noise_weights(visits: npt.NDArray[np.int64], power: float) -> npt.NDArray[np.float64]:
    """What negatives are drawn in proportion to: visits to a power; a node that no walk visits is no negative."""
    return np.where(visits > 0, visits.astype(np.float64) ** power, 0.0)


def alias_table(weights: npt.NDArray[np.float64]) -> Alias:
    """What numbers are drawn by in proportion to weights."""
    keep, other = np.zeros(len(weights), np.uint32), np.zeros(len(weights), np.int32)
    alias_tables(np.array([0, len(weights)], np.uint64), weights, keep, other)
    return keep, other


def _plan(corpus: Corpus, family: Family, settings: Settings, slopes: Floats) -> kernel.Plan:
    together = negatives_together(settings)
    pool = pool_size(settings, corpus.pairs / max(corpus.centers, 1), len(corpus.visits))
    rate = float(settings.learning_rate)
    fall = (rate - float(settings.min_learning_rate)) / max(corpus.positions, 1)
    low, high = map(float, family.bounds)
    scale = (slopes.shape[1] - 1) / (high - low)
    floor = 0.0 if family.nonnegative else -np.inf
    # Exactly these types: any other would make the kernel compile again.
    window, negatives = int(settings.window), int(settings.negatives)
    return kernel.Plan(window, settings.stars, negatives, together, pool, rate, fall, floor, low, scale)


def negatives_together(settings: Settings) -> int:
    """Contexts that share their negatives, each of which is therefore observed as often; in stars, none do."""
    return 1 if settings.stars else min(_MOST_TOGETHER, max(1, ABREAST - int(settings.negatives)))


def pool_size(settings: Settings, contexts: float, nodes: int) -> int:
    """How many negatives a pool holds that serves some centers with as many contexts each, in a graph of some nodes."""
    drawn = kernel.CENTERS_A_POOL * math.ceil(settings.negatives * contexts / negatives_together(settings))
    uses = min(max(nodes / _NODES_FOR_A_USE, _USES[0]), _USES[1])
    return min(max(math.ceil(drawn / uses), _POOLS[0]), _POOLS[1])


def _room(corpus: Corpus, plan: kernel.Plan, tree: Tree, settings: Settings, blocks: int | None = None) -> steps.Room:
    """Room for three rounds; how many blocks make one follows from the graph and the settings, never from threads."""
    longest = corpus.longest_block
    others = plan.pool * math.ceil(corpus.most_centers / kernel.CENTERS_A_POOL)
    turns = longest * tree.longest if settings.softmax else 0
    rows = 1 + longest + (min(turns, len(corpus.visits)) if settings.softmax else others)
    if blocks is None:
        share = corpus.visits.max(initial=0) / max(corpus.visits.sum(), 1)
        centers = min(len(corpus.visits) * AVERAGE_VISITS, MOST_VISITS / max(share, 1e-9))
        width = math.ceil(settings.dim / CHUNK) * CHUNK
        most = min(MOST_BLOCKS, MOST_BYTES // (8 * rows * width))
        blocks = max(1, min(most, int(centers / max(corpus.most_centers, 1))))
    now, soon, later = (_round(blocks, rows, math.ceil(turns / rows)) for _ in range(3))
    slots, firsts = np.zeros(4 * blocks * rows + steps.SHARES, np.uint32), np.zeros((blocks * rows, 2), np.uint32)
    return steps.Room(now, soon, later, slots, firsts, len(corpus.visits), np.zeros(steps.SIGNALS, np.int64))


def _round(blocks: int, rows: int, turns_a_row: int) -> steps.Round:
    every = blocks * rows
    return steps.Round(
        names=np.zeros(every, np.int32),
        places=np.zeros(2 * every, np.int64),
        counts=np.zeros((blocks, 4), np.int64),
        where=np.zeros(every, np.int32),
        pools=np.zeros(every, np.int32),
        turn_starts=np.zeros(every, np.int64),
        turns=np.zeros(every * turns_a_row, np.int32),
        dealt=np.zeros(every, np.int32),
        starts=np.zeros((blocks, steps.SHARES + 2), np.int64),
        shared=np.zeros((2, 2 * every), np.int32),
        again=np.zeros((2, 2 * every, 2), np.int32),
        shared_starts=np.zeros(steps.SHARES, np.int64),
        shared_counts=np.zeros((steps.SHARES, 2, 2), np.int64),
    )


def _shares(corpus: Corpus, tree: Tree, room: steps.Room) -> Floats:
    """How much of the differences of a round's blocks counts, for places of a tree.

    Paths to all nodes begin at the root: each block alone moves the first places about as far as they should go, and
    the sum of all blocks would throw them far beyond. What is seen often in a round is therefore averaged.
    """
    if tree is NO_TREE:
        return np.ones(0, np.float32)
    blocks = len(room.now.counts)
    a_round = blocks * max(corpus.most_centers, 1)
    seen = tree.passes(corpus.visits) / max(corpus.centers, 1) * a_round * corpus.pairs / max(corpus.centers, 1)
    return np.clip(_MOST_SEEN / np.maximum(seen, 1e-9), 1 / blocks, 1.0).astype(np.float32)


def _piece_size(corpus: Corpus, room: steps.Room, width: int) -> int:
    """Positions between two reports: whole rounds, not much longer than some tenths of a second."""
    per_position = width * max(1, corpus.pairs // max(corpus.positions, 1))
    size = min(_PIECE // per_position, corpus.positions // LOOKS)
    a_round = len(room.now.counts) * corpus.longest_block
    return max(1, size // max(a_round, 1)) * max(a_round, 1)
