"""Training: rounds of walks through the kernel, with a falling learning rate and an eye on pairs held apart.

The slope of a family is tabulated before training, as cubic polynomials that are right to about six digits.
The kernel therefore never calls a family, and trains all of them, a user's own included, by the same machine code.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from efge import __version__
from efge.checkpoints import Checkpoints, State
from efge.corpus import Corpus, Source
from efge.errors import TrainingError, check_counts
from efge.families import Family, cubics
from efge.kernels import plain
from efge.kernels import training as kernel
from efge.kernels.rows import ABREAST, CHUNK
from efge.kernels.streams import alias_tables
from efge.seeds import stream_key
from efge.tree import NO_TREE, Tree, huffman
from efge.walks import Round
from efge.writing import mapped

Floats = npt.NDArray[np.float32]
Alias = tuple[npt.NDArray[np.uint32], npt.NDArray[np.int32]]

TRAINERS = ("fast", "reference")
# Between two merges of a round, an average node is a center so often, and the most frequent one so often.
_AVERAGE_VISITS, _MOST_VISITS = 0.1, 4.0
# Where a place of a tree is seen more often in a round, its blocks' differences are averaged rather than added.
_MOST_SEEN = 36.0
# Blocks in a round at most, and the room for their copies, which should stay in the cache.
_MOST_BLOCKS, _MOST_BYTES = 64, 1 << 25
# Contexts that share their negatives at most; how often a negative of a pool is drawn; the smallest and largest pool.
_MOST_TOGETHER, _USES, _POOLS = 4, 3.4, (16, 512)
# Work between two reports of progress, in multiplications; some tenths of a second.
_PIECE = 1 << 28
# Rows that are copied at once.
_ROWS_AT_ONCE = 1 << 14
# Pairs held apart, and how often they are looked at.
_HELD_PAIRS, _LOOKS = 4096, 20
# Entries of vectors seldom exceed 3, and no sound training has brought them so far.
_WILD = 100.0


@dataclass(frozen=True)
class Settings:
    """What training is told; see :class:`efge.EFGE` for what each means.

    With `softmax`, a context is likely by hierarchical softmax instead of negatives. With `forward`, contexts are only
    what comes after a center. With `one_table`, nodes have the same vectors as centers and as contexts.
    """

    dim: int
    window: int
    negatives: int
    epochs: int
    learning_rate: float
    min_learning_rate: float
    noise_power: float
    patience: int | None = None
    trainer: str = "fast"
    softmax: bool = False
    forward: bool = False
    one_table: bool = False

    def check(self) -> None:
        """Refuse what training cannot do."""
        counted = ("dim", "window", "negatives", "epochs", "patience")
        check_counts(**{name: getattr(self, name) for name in counted})
        if not 0 < self.min_learning_rate <= self.learning_rate < math.inf:
            got = f"{self.min_learning_rate!r} and {self.learning_rate!r}"
            raise ValueError(f"min_learning_rate and learning_rate are positive, the first one not larger; got {got}")
        if not 0 <= self.noise_power < math.inf:
            raise ValueError(f"noise_power is a number from 0 on; got {self.noise_power!r}")
        if self.trainer not in TRAINERS:
            raise ValueError(f"no trainer {self.trainer!r}; known: {', '.join(TRAINERS)}")


@dataclass(frozen=True)
class Progress:
    """How far training is: pairs trained, pairs in all, and the last mean log-likelihood of the pairs held apart.

    Examples
    --------
    >>> Progress(pairs=500, total=1000, log_likelihood=-3.5)
    Progress(pairs=500, total=1000, log_likelihood=-3.5)
    """

    pairs: int
    total: int
    log_likelihood: float


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
    corpus = Corpus(walks, settings.window, settings.epochs, settings.forward)
    centers, contexts = _tables(walks, family, settings, mapped_in)
    trained = Trained(centers[:, : settings.dim], contexts[:, : settings.dim])
    tree = huffman(corpus.visits) if settings.softmax else NO_TREE
    noise = _noise(corpus.visits, settings.noise_power)
    model = kernel.Model(centers, contexts, cubics(family, "slope"), *noise, *tree, np.ones(0, np.float32))
    plan = _plan(corpus, family, settings, model)
    room = _room(corpus, plan, tree, settings)
    model = model._replace(shares=_shares(corpus, tree, room))
    look = _Look(walks, corpus, family, model, plan)
    keeper = _Keeper(checkpoints, lambda: _identity(corpus, family, settings), trained)
    tell = progress or (lambda at: None)
    with ThreadPoolExecutor(walks.threads) as pool, keeper.watching():
        look.state = trained.state = keeper.begin()
        if not look.state.pieces:
            look(0)
        tell(Progress(0, corpus.pairs, look.last))
        for number, (work, pairs) in enumerate(corpus.pieces(_piece_size(corpus, room, centers.shape[1])), 1):
            if number <= keeper.done:
                continue
            if settings.patience is not None and look.state.since_best >= settings.patience:
                break
            _run(pool, walks.threads, work, model, plan, room, settings)
            if room.signals[kernel.BROKEN]:
                raise _broken(family, settings, trained, work, room)
            if pairs >= look.due or pairs == corpus.pairs:
                look(pairs)
            look.state.pieces = number
            tell(Progress(pairs, corpus.pairs, look.last))
            keeper.keep()
    trained.centers = _dense(centers, settings.dim)
    trained.contexts = trained.centers if settings.one_table else _dense(contexts, settings.dim)
    _point_out_wildness(family, settings, trained)
    return trained


class _Keeper:
    """Checkpoints of a training, or none."""

    def __init__(
        self, checkpoints: Checkpoints | None, identity: Callable[[], dict[str, Any]], trained: Trained
    ) -> None:
        self.checkpoints = checkpoints
        self.identity = identity
        self.trained = trained
        self.done = 0

    def begin(self) -> State:
        if self.checkpoints is None:
            return State()
        state = self.checkpoints.begin(self.identity(), (self.trained.centers, self.trained.contexts))
        self.done = state.pieces
        return state

    def keep(self) -> None:
        if self.checkpoints is not None:
            self.checkpoints.keep(self.trained.state, (self.trained.centers, self.trained.contexts))

    @contextmanager
    def watching(self) -> Iterator[None]:
        if self.checkpoints is None:
            yield
            return
        with self.checkpoints.held(), self.checkpoints.watching():
            yield


def _identity(corpus: Corpus, family: Family, settings: Settings) -> dict[str, Any]:
    """All that a result depends on, by name: a state of one is no state of another."""
    described = {"version": __version__, "graph": corpus.walks.graph.fingerprint(), "family": repr(family)}
    visits = {"visits": hashlib.sha256(corpus.visits.astype("<i8").tobytes()).hexdigest()}
    return described | corpus.walks.describe() | asdict(settings) | visits


def _run(
    pool: ThreadPoolExecutor,
    threads: int,
    work: kernel.Work,
    model: kernel.Model,
    plan: kernel.Plan,
    room: kernel.Room,
    settings: Settings,
) -> None:
    if settings.trainer == "reference":
        before = model.centers.copy(), model.contexts.copy()
        if not plain.train_plainly(work, model, plan):
            room.signals[kernel.BROKEN] += 1
            model.centers[:], model.contexts[:] = before
        return
    room.signals[:] = 0
    # More threads than blocks would only wait for each other.
    threads = min(threads, len(room.counts), len(work.blocks) - 1)

    def share(number: int) -> None:
        try:
            kernel.train(number, threads, work, model, plan, room)
        except BaseException:
            room.signals[kernel.ABANDONED] = 1
            raise

    try:
        jobs = [pool.submit(share, number) for number in range(1, threads)]
        kernel.train(0, threads, work, model, plan, room)
    except BaseException:
        # An interrupt before this thread began would let the others wait for it for ever.
        room.signals[kernel.ABANDONED] = 1
        raise
    for job in jobs:
        job.result()


def _broken(
    family: Family, settings: Settings, trained: Trained, work: kernel.Work, room: kernel.Room
) -> TrainingError:
    number = int(work.first_block) // len(room.counts)
    return TrainingError(
        f"{family!r}: the vectors left the finite numbers in round {number} or soon after it; lower learning_rate"
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


def _tables(walks: Source, family: Family, settings: Settings, folder: Path | None) -> tuple[Floats, Floats]:
    """Centers a little around zero and contexts at zero; where they may not be negative, both above it."""
    centers, contexts = (_aligned(walks.graph.n_nodes, settings.dim, folder) for _ in range(2))
    keys = [stream_key(walks.seed, 0, purpose) for purpose in ("centers", "contexts")]
    if family.nonnegative:
        plain.spread(keys[0], centers, settings.dim, 0.0, settings.dim**-0.5)
        plain.spread(keys[1], contexts, settings.dim, 0.0, settings.dim**-0.5)
    else:
        plain.spread(keys[0], centers, settings.dim, -0.5 / settings.dim, 0.5 / settings.dim)
    return centers, centers if settings.one_table else contexts


def _aligned(rows: int, dim: int, folder: Path | None = None) -> Floats:
    """A table of zeros whose rows begin at cache lines, in memory or in a file of a folder."""
    width = math.ceil(dim / CHUNK) * CHUNK
    count = rows * width + CHUNK
    raw = np.zeros(count, np.float32) if folder is None else np.frombuffer(mapped(folder, 4 * count), np.float32)
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
    """The alias table of visits to a power; a node that no walk visits is no negative."""
    return alias_table(np.where(visits > 0, visits.astype(np.float64) ** power, 0.0))


def alias_table(weights: npt.NDArray[np.float64]) -> Alias:
    """What numbers are drawn by in proportion to weights."""
    keep, other = np.zeros(len(weights), np.uint32), np.zeros(len(weights), np.int32)
    alias_tables(np.array([0, len(weights)], np.uint64), weights, keep, other)
    return keep, other


def _plan(corpus: Corpus, family: Family, settings: Settings, model: kernel.Model) -> kernel.Plan:
    together = min(_MOST_TOGETHER, max(1, ABREAST - int(settings.negatives)))
    contexts = corpus.pairs / max(corpus.centers, 1)
    drawn = kernel.CENTERS_A_POOL * math.ceil(settings.negatives * contexts / together)
    pool = min(max(math.ceil(drawn / _USES), _POOLS[0]), _POOLS[1])
    rate = float(settings.learning_rate)
    fall = (rate - float(settings.min_learning_rate)) / max(corpus.centers, 1)
    low, high = map(float, family.bounds)
    scale = (model.slopes.shape[1] - 1) / (high - low)
    floor = 0.0 if family.nonnegative else -np.inf
    # Exactly these types: any other would make the kernel compile again.
    window, negatives = int(settings.window), int(settings.negatives)
    return kernel.Plan(window, settings.forward, negatives, together, pool, rate, fall, floor, low, scale)


def _room(corpus: Corpus, plan: kernel.Plan, tree: Tree, settings: Settings) -> kernel.Room:
    """Room for as many blocks as make a round, which follows from the graph and the settings, never from threads."""
    longest = corpus.longest_block
    others = plan.pool * math.ceil(longest / kernel.CENTERS_A_POOL)
    rows = 1 + longest + (min(longest * tree.longest, len(corpus.visits)) if settings.softmax else others)
    share = corpus.visits.max(initial=0) / max(corpus.visits.sum(), 1)
    centers = min(len(corpus.visits) * _AVERAGE_VISITS, _MOST_VISITS / max(share, 1e-9))
    width = math.ceil(settings.dim / CHUNK) * CHUNK
    most = min(_MOST_BLOCKS, _MOST_BYTES // (8 * rows * width))
    blocks = max(1, min(most, int(centers / max(longest, 1))))
    return kernel.Room(
        _aligned(2 * blocks * rows, settings.dim),
        np.zeros(blocks * rows + ABREAST, np.int32)[: blocks * rows],
        np.zeros((blocks, 3), np.int64),
        np.zeros(kernel.SIGNALS, np.int64),
    )


def _shares(corpus: Corpus, tree: Tree, room: kernel.Room) -> Floats:
    """How much of the differences of a round's blocks counts, for places of a tree.

    Paths to all nodes begin at the root: each block alone moves the first places about as far as they should go, and
    the sum of all blocks would throw them far beyond. What is seen often in a round is therefore averaged.
    """
    if tree is NO_TREE:
        return np.ones(0, np.float32)
    blocks, a_round = len(room.counts), len(room.counts) * max(corpus.longest_block, 1)
    seen = tree.passes(corpus.visits) / max(corpus.centers, 1) * a_round * corpus.pairs / max(corpus.centers, 1)
    return np.clip(_MOST_SEEN / np.maximum(seen, 1e-9), 1 / blocks, 1.0).astype(np.float32)


def _piece_size(corpus: Corpus, room: kernel.Room, width: int) -> int:
    """Centers between two reports: whole rounds, not much longer than some tenths of a second."""
    per_center = width * max(1, corpus.pairs // max(corpus.centers, 1))
    size = min(_PIECE // per_center, corpus.centers // _LOOKS)
    a_round = len(room.counts) * corpus.longest_block
    return max(1, size // max(a_round, 1)) * max(a_round, 1)


class _Look:
    """Looks now and then at pairs and negatives held apart from training."""

    def __init__(self, walks: Source, corpus: Corpus, family: Family, model: kernel.Model, plan: kernel.Plan) -> None:
        self.model = model
        self.interval = corpus.pairs / _LOOKS
        self.state = State()
        self.log_probs = cubics(family, "log_prob")
        self.low = plan.low
        self.scale = (self.log_probs.shape[1] - 1) / (family.bounds[1] - family.bounds[0])
        random = np.random.Generator(np.random.PCG64(int(stream_key(walks.seed, 0, "pairs held apart"))))
        pairs = _some_pairs(corpus.held_apart(), plan, random)
        negatives = np.empty((len(pairs), plan.negatives), np.int64)
        plain.draw(stream_key(walks.seed, 0, "negatives held apart"), model.keep, model.other, negatives.reshape(-1))
        self.sample = np.hstack([pairs, negatives])

    @property
    def last(self) -> float:
        """What the last look saw."""
        return self.state.history["log_likelihood"][-1]

    @property
    def due(self) -> float:
        """After how many pairs to look again; the end of a piece is seldom quite there."""
        seen = self.state.history["pairs"][-1]
        return (round(seen / self.interval) + 0.5) * self.interval if self.interval else np.inf

    def __call__(self, pairs: int) -> None:
        value = np.nan
        if len(self.sample):
            tables, has_tree = (self.model.centers, self.model.contexts), len(self.model.path_starts)
            value = (
                plain.mean_path_log_likelihood(*tables, self.sample, self.model.path_starts, self.model.paths)
                if has_tree
                else plain.mean_log_likelihood(*tables, self.sample, self.log_probs, self.low, self.scale)
            )
        state = self.state
        state.history["pairs"].append(pairs)
        state.history["log_likelihood"].append(value)
        if len(self.sample):
            state.since_best = 0 if value > state.best else state.since_best + 1
            state.best = max(state.best, value)


def _some_pairs(walks: Round, plan: kernel.Plan, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Pairs of a center and a context, drawn from walks of more than one node."""
    window = plan.window
    lengths = np.diff(walks.offsets)
    long_enough = np.flatnonzero(lengths > 1)
    if not len(long_enough):
        return np.empty((0, 2), np.int64)
    walk = long_enough[random.integers(len(long_enough), size=_HELD_PAIRS)]
    center = random.integers(lengths[walk] - 1 if plan.forward else lengths[walk])
    low, high = np.maximum(center - window, 0), np.minimum(center + window, lengths[walk] - 1)
    low = center if plan.forward else low
    context = low + random.integers(high - low)
    context += context >= center
    begin = walks.offsets[walk]
    return np.column_stack([walks.nodes[begin + center], walks.nodes[begin + context]]).astype(np.int64)
