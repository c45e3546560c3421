"""Memory for rounds of blocks: how many blocks make a round, and the arrays that their rows need.

All of it follows from the graph and the settings, never from the number of threads: the size of a round changes bits.
"""

from __future__ import annotations

import math

import numpy as np

from efge.kernels import sgd as kernel
from efge.kernels.sgd_rows import CENTERS_PER_POOL, Round, Workspace
from efge.kernels.sgd_step import N_COUNTERS
from efge.training.corpus import Corpus
from efge.training.huffman import NO_TREE, Tree
from efge.training.settings import N_EVALUATIONS, Settings
from efge.training.tables import Floats, padded_width

# In a round, between two merges, an average node is a center at most this often, and the most frequent node this often.
_AVERAGE_VISITS, _MAX_VISITS = 0.1, 4.0
# Largest number of blocks in a round, and of bytes for their copies, which should stay in the cache.
_MAX_BLOCKS, _MAX_COPY_BYTES = 256, 1 << 25
# Number of shards of a round's rows: one for two blocks, within these bounds. Each costs time with every block, so that
# there are no more than many threads need.
_MIN_SHARDS, _MAX_SHARDS = 4, 32
# If a round observes an inner node of the tree more often than this, the changes of its blocks are averaged, not added.
_MAX_OBSERVATIONS = 36.0
# Multiplications between two reports of progress: some tenths of a second.
_CHUNK_OPERATIONS = 1 << 28


def make_workspace(
    corpus: Corpus, config: kernel.SGDConfig, tree: Tree, settings: Settings, n_blocks: int | None = None
) -> Workspace:
    """Allocate memory for three rounds; `n_blocks` is the number of blocks of a round if it is not to be computed."""
    path_steps = corpus.longest_block * tree.longest if settings.softmax else 0
    negatives = config.pool_size * math.ceil(corpus.longest_block / CENTERS_PER_POOL)
    others = min(path_steps, len(corpus.visits)) if settings.softmax else negatives
    rows_per_block = 1 + corpus.longest_block + others
    n_blocks = _blocks_per_round(corpus, rows_per_block, settings.dim) if n_blocks is None else n_blocks
    rows = n_blocks * rows_per_block
    current, following, upcoming = (
        _make_round(n_blocks, rows, math.ceil(path_steps / rows_per_block)) for _ in range(3)
    )
    return Workspace(
        current=current,
        next=following,
        upcoming=upcoming,
        slots=np.zeros(4 * rows + len(current.copy_start), np.uint32),
        first_row=np.zeros(rows, np.uint32),
        firsts=np.zeros((rows, 2), np.uint32),
        n_nodes=len(corpus.visits),
        counters=np.zeros(N_COUNTERS, np.int64),
    )


def _blocks_per_round(corpus: Corpus, rows_per_block: int, dim: int) -> int:
    """Return the number of blocks of a round.

    It is as large as visits to nodes and memory allow: threads need several blocks to share, but blocks of a round do
    not see each other's changes.
    """
    largest_share = corpus.visits.max(initial=0) / max(corpus.visits.sum(), 1)
    centers = min(len(corpus.visits) * _AVERAGE_VISITS, _MAX_VISITS / max(largest_share, 1e-9))
    most = min(_MAX_BLOCKS, _MAX_COPY_BYTES // (8 * rows_per_block * padded_width(dim)))
    return max(1, min(most, int(centers / max(corpus.longest_block, 1))))


def _make_round(n_blocks: int, rows: int, path_steps_per_row: int) -> Round:
    n_shards = min(max(n_blocks // 2, _MIN_SHARDS), _MAX_SHARDS)
    return Round(
        row_node=np.zeros(rows, np.int32),
        row_location=np.zeros(2 * rows, np.int64),
        bounds=np.zeros((n_blocks, 3), np.int64),
        position_row=np.zeros(rows, np.int32),
        negative_row=np.zeros(rows, np.int32),
        path_start=np.zeros(rows, np.int64),
        path_step=np.zeros(rows * path_steps_per_row, np.int32),
        shard_row=np.zeros(rows, np.int32),
        shard_start=np.zeros((n_blocks, n_shards + 2), np.int64),
        first_copy=np.zeros((2, 2 * rows), np.int32),
        other_copy=np.zeros((2, 2 * rows, 2), np.int32),
        copy_start=np.zeros(n_shards, np.int64),
        copy_count=np.zeros((n_shards, 2, 2), np.int64),
    )


def merge_scale(corpus: Corpus, tree: Tree, n_blocks: int) -> Floats:
    """Return the fraction of its blocks' summed changes that each inner node of the tree keeps after a round.

    Paths to all nodes begin at the root. Each block alone moves the first inner nodes about as far as they should go,
    and the sum of all blocks would move them much too far; so inner nodes that a round observes often are averaged.
    """
    if tree is NO_TREE:
        return np.ones(0, np.float32)
    centers = max(corpus.positions, 1)
    centers_per_round = n_blocks * max(corpus.longest_block, 1)
    observations = tree.passes(corpus.visits) / centers * centers_per_round * corpus.pairs / centers
    return np.clip(_MAX_OBSERVATIONS / np.maximum(observations, 1e-9), 1 / n_blocks, 1.0).astype(np.float32)


def rounds_per_chunk(corpus: Corpus, n_blocks: int, width: int) -> int:
    """Return the rounds between two reports of progress: some tenths of a second at most."""
    operations = width * max(1, corpus.pairs // max(corpus.positions, 1))
    positions = min(_CHUNK_OPERATIONS // operations, corpus.positions // N_EVALUATIONS)
    return max(1, positions // max(n_blocks * corpus.longest_block, 1))
