"""Kernels of `precision.py`: tables of 16 bits in a plain skip-gram trainer, and in loops that only visit rows.

Arithmetic is in float32 everywhere. A format is two functions: one makes a float32 of what a table stores, and one
stores a float32, with 32 random bits for formats that round stochastically. LLVM makes vector instructions of them.
"""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from efge.kernels.common import GOLDEN, ONE, REORDER, ZERO, U, mix
from efge.kernels.intrinsics import prefetch
from efge.kernels.random import sample_alias, stream_state

DIM = 128
_INT16, _INT32, _HALF, _FLOAT = ir.IntType(16), ir.IntType(32), ir.HalfType(), ir.FloatType()
_HIGH, _LOW_13, _HIGH_19 = np.uint32(16), np.uint32(0x1FFF), np.uint32(0xFFFFE000)


@intrinsic
def _bits_of(context, number):
    """Return the 32 bits of a float32."""

    def emit(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], _INT32)

    return types.uint32(types.float32), emit


@intrinsic
def _float_of(context, bits):
    """Return the float32 that has these 32 bits."""

    def emit(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], _FLOAT)

    return types.float32(types.uint32), emit


@intrinsic
def _to_half(context, number):
    """Return the bits of the nearest float16, by the processor's instruction where it has one."""

    def emit(context, builder, signature, arguments):
        return builder.bitcast(builder.fptrunc(arguments[0], _HALF), _INT16)

    return types.uint16(types.float32), emit


@intrinsic
def _from_half(context, bits):
    """Return a float16, given by its bits, as a float32."""

    def emit(context, builder, signature, arguments):
        return builder.fpext(builder.bitcast(arguments[0], _HALF), _FLOAT)

    return types.float32(types.uint16), emit


@njit(inline="always")
def load_float32(entry):
    return entry


@njit(inline="always")
def store_float32(x, noise):
    return x


@njit(inline="always")
def load_bfloat16(entry):
    return _float_of(np.uint32(np.uint32(entry) << _HIGH))


@njit(inline="always")
def store_bfloat16(x, noise):
    """Round to the nearest bfloat16, ties to even."""
    bits = _bits_of(x)
    last = np.uint32((bits >> _HIGH) & np.uint32(1))
    return np.uint16(np.uint32(bits + np.uint32(0x7FFF) + last) >> _HIGH)


@njit(inline="always")
def store_bfloat16_stochastic(x, noise):
    """Round up with a probability that is the part of the last bit which is cut off."""
    return np.uint16(np.uint32(_bits_of(x) + np.uint32(noise & np.uint32(0xFFFF))) >> _HIGH)


@njit(inline="always")
def load_float16(entry):
    return _from_half(entry)


@njit(inline="always")
def store_float16(x, noise):
    return _to_half(x)


@njit(inline="always")
def store_float16_stochastic(x, noise):
    """Round as above; numbers below 2**-14 are multiples of 2**-24 in float16."""
    cut = np.uint32(noise & _LOW_13)
    normal = _float_of(np.uint32(np.uint32(_bits_of(x) + cut) & _HIGH_19))
    u = np.float32(np.int32(cut)) * np.float32(2.0**-13)
    small = np.floor(x * np.float32(2.0**24) + u) * np.float32(2.0**-24)
    return _to_half(small if abs(x) < np.float32(2.0**-14) else normal)


# Entries of a table, what reads one, and what writes one.
FORMATS = {
    "float32": (np.float32, load_float32, store_float32),
    "bfloat16": (np.uint16, load_bfloat16, store_bfloat16),
    "bfloat16, stochastic": (np.uint16, load_bfloat16, store_bfloat16_stochastic),
    "float16": (np.uint16, load_float16, store_float16),
    "float16, stochastic": (np.uint16, load_float16, store_float16_stochastic),
}


@njit(inline="always")
def row_key(step, row):
    """Return the random key of a row at a step."""
    return np.uint32(mix(U(step) * GOLDEN + U(row)) >> U(32))


@intrinsic
def _mix_32(context, number):
    """Return 32 well-mixed bits of a counter. Numba would multiply uint32 as uint64, which is slower."""

    def emit(context, builder, signature, arguments):
        (z,) = arguments
        for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
            z = builder.xor(z, builder.lshr(z, ir.Constant(_INT32, shift)))
            z = builder.mul(z, ir.Constant(_INT32, factor))
        return builder.xor(z, builder.lshr(z, ir.Constant(_INT32, 16)))

    return types.uint32(types.uint32), emit


@njit(inline="always")
def column_noise(key, column):
    """Return 32 random bits of a column."""
    return _mix_32(np.uint32(key + np.uint32(column)))


def make_converters(name: str) -> Any:
    """Return functions that store a float32 table in a format, with the noise of a step, and that read it again."""
    _, load, store = FORMATS[name]

    @njit
    def pack(table, step, out):
        for row in range(table.shape[0]):
            key = row_key(step, row)
            for j in range(table.shape[1]):
                out[row, j] = store(table[row, j], column_noise(key, j))

    @njit
    def unpack(table, out):
        for row in range(table.shape[0]):
            for j in range(table.shape[1]):
                out[row, j] = load(table[row, j])

    return pack, unpack


@njit
def _list_rows(nodes, pool, slot, rows):
    """List distinct nodes of a walk, and then those of its negatives; return the numbers of both."""
    count = 0
    for node in nodes:
        if slot[node] < 0:
            slot[node], rows[count] = count, node
            count += 1
    n_centers = count
    for node in pool:
        if slot[node] < 0:
            slot[node], rows[count] = count, node
            count += 1
    return n_centers, count


@njit(inline="always", fastmath=REORDER)
def _gradient(observed, score, poisson):
    """Return the gradient of the log-probability; the mean of Poisson is exp(s), with s at most 1."""
    if poisson:
        return np.float32(observed) - np.exp(min(score, np.float32(1.0)))
    return np.float32(observed) - np.float32(1.0) / (np.float32(1.0) + np.exp(-score))


@njit(fastmath=REORDER)
def _train_pair(center, row, observed, rate, poisson, gain):
    """Move a row by one observation, and add what the center gains."""
    s = np.float32(0.0)
    for j in range(DIM):
        s += center[j] * row[j]
    g = rate * _gradient(observed, s, poisson)
    for j in range(DIM):
        gain[j] += g * row[j]
        row[j] += g * center[j]


@njit
def _draw_pool(state, prob, alias, pool):
    for i in range(pool.shape[0]):
        state += GOLDEN
        pool[i] = np.int64(sample_alias(prob, alias, mix(state)))


class Block(NamedTuple):
    """What a walk is trained on."""

    slot: np.ndarray  # int64[nodes], number of a node's rows in this block
    pool: np.ndarray  # int64[negatives], drawn for this walk
    centers: np.ndarray  # float32[rows, DIM]
    contexts: np.ndarray  # float32[rows, DIM]


class Config(NamedTuple):
    """Settings of a training."""

    learning_rate: float
    rate_decay: float  # for each walk
    negatives: int  # for each context
    poisson: bool  # rather than Bernoulli
    key: np.uint64  # of the negatives


def _make_row_functions(name):
    """Return functions that fetch rows of a table, write them back, and round a row in the block."""
    _, load, store = FORMATS[name]

    @njit
    def fetch(table, rows):
        block = np.empty((rows.shape[0], DIM), np.float32)
        for i in range(rows.shape[0]):
            for j in range(DIM):
                block[i, j] = load(table[rows[i], j])
        return block

    @njit
    def write_back(table, rows, block, step):
        for i in range(rows.shape[0]):
            key = row_key(step, rows[i])
            for j in range(DIM):
                table[rows[i], j] = store(block[i, j], column_noise(key, j))

    @njit
    def round_row(row, key):
        for j in range(DIM):
            row[j] = load(store(row[j], column_noise(key, j)))

    return fetch, write_back, round_row


def _make_walk_trainer(round_row, each_step):
    """Return a function that trains the rows of a walk in float32; with `each_step`, rounds them after each step."""

    @njit
    def train_walk(nodes, block, rate, config, step):
        slot, pool, gain, at = block.slot, block.pool, np.empty(DIM, np.float32), 0
        for p in range(nodes.shape[0]):
            center = block.centers[slot[nodes[p]]]
            for q in range(nodes.shape[0]):
                if q == p:
                    continue
                gain[:] = 0.0
                for i in range(config.negatives + 1):
                    row = slot[nodes[q]]
                    if i:
                        row, at = slot[pool[at]], (at + 1) % pool.shape[0]
                        if row == slot[nodes[q]]:
                            continue
                    _train_pair(center, block.contexts[row], i == 0, rate, config.poisson, gain)
                    if each_step:
                        step += ONE
                        round_row(block.contexts[row], row_key(step, row))
                for j in range(DIM):
                    center[j] += gain[j]
                if each_step:
                    step += ONE
                    round_row(center, row_key(step, slot[nodes[p]]))
        return step

    return train_walk


def make_trainer(name: str, each_step: bool) -> Any:
    """Return a function that trains walks, one after the other, with tables of a format.

    The rows of a walk and of its pool of negatives become float32, are trained, and are rounded when they are written
    back. With `each_step` they are also rounded after each step, as if there were no block.
    """
    fetch, write_back, round_row = _make_row_functions(name)
    train_walk = _make_walk_trainer(round_row, each_step)

    @njit
    def train(nodes, offsets, first, tables, noise, config):
        centers, contexts = tables
        slot, step = np.full(centers.shape[0], -1, np.int64), U(first) << U(32)
        for walk in range(offsets.shape[0] - 1):
            walked = nodes[offsets[walk] : offsets[walk + 1]]
            pool = np.empty(config.negatives * walked.shape[0], np.int64)
            _draw_pool(stream_state(config.key, U(first + walk)), noise[0], noise[1], pool)
            rows = np.empty(walked.shape[0] + pool.shape[0], np.int64)
            n_centers, n_rows = _list_rows(walked, pool, slot, rows)
            block = Block(slot, pool, fetch(centers, rows[:n_centers]), fetch(contexts, rows[:n_rows]))
            rate = np.float32(config.learning_rate - config.rate_decay * (first + walk))
            step = U(train_walk(walked, block, rate, config, step))
            write_back(centers, rows[:n_centers], block.centers, step + ONE)
            write_back(contexts, rows[:n_rows], block.contexts, step + U(2))
            step += U(2)
            for i in range(n_rows):
                slot[rows[i]] = -1

    return train


@njit(inline="always")
def _prefetch_row(table, row):
    for j in range(ZERO, U(DIM), U(64 // table.itemsize)):
        prefetch(table, np.int64(U(row) * U(DIM) + j))


def make_updater(name: str) -> Any:
    """Return a loop over rows: each is compared with a center and moved along it, and the center's gain is added up."""
    _, load, store = FORMATS[name]

    @njit(fastmath=REORDER)
    def update(table, order, center, gain, rate, step):
        for i in range(U(order.shape[0])):
            _prefetch_row(table, order[min(i + U(8), U(order.shape[0] - 1))])
            row, s = U(order[i]), np.float32(0.0)
            for j in range(U(DIM)):
                s += center[j] * load(table[row, j])
            g, key = rate * (np.float32(0.1) - s), row_key(U(step) + i, row)
            for j in range(U(DIM)):
                y = load(table[row, j])
                gain[j] += g * y
                table[row, j] = store(y + g * center[j], column_noise(key, j))

    return update


def make_adder(name: str) -> Any:
    """Return a loop that adds rows of float32 from the cache to rows of a table, as training in blocks does."""
    _, load, store = FORMATS[name]

    @njit(fastmath=REORDER)
    def add(table, order, block, step):
        for i in range(U(order.shape[0])):
            _prefetch_row(table, order[min(i + U(8), U(order.shape[0] - 1))])
            row, key = U(order[i]), row_key(U(step) + i, U(order[i]))
            for j in range(U(DIM)):
                x = load(table[row, j]) + block[i & U(31), j]
                table[row, j] = store(x, column_noise(key, j))

    return add
