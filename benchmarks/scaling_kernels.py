"""Kernels of `scaling.py`: training in one thread that writes down the cycles of each task, and two that take turns."""

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from efge.kernels.common import ONE, REORDER, ZERO, U
from efge.kernels.intrinsics import atomic_add, atomic_load
from efge.kernels.sgd import INDEX_TOGETHER, _make_scratch, _train_block
from efge.kernels.sgd_rows import index_rows, merge_copies, resolve_shared_rows


@intrinsic
def _cycles(context):
    """Return the processor's cycle counter."""

    def emit(context, builder, signature, arguments):
        function = builder.module.declare_intrinsic("llvm.readcyclecounter", (), ir.FunctionType(ir.IntType(64), ()))
        return builder.call(function, ())

    return types.int64(), emit


@njit
def read_cycles():
    return _cycles()


# Not cached: the cache would not notice that the functions of other modules have changed.
@njit(nogil=True, fastmath=REORDER)
def timed_train(work, model, config, workspace, ticks):
    """Train all blocks as one thread, as `efge.kernels.sgd.train` does; fill ticks[stage, round, task]."""
    current, following, upcoming = workspace.current, workspace.next, workspace.upcoming
    n_nodes, n_blocks, max_blocks = U(workspace.n_nodes), U(work.blocks.shape[0] - 1), U(current.bounds.shape[0])
    n_shards = U(current.copy_start.shape[0])
    scratch = _make_scratch(current.row_node.shape[0] // current.bounds.shape[0], model.centers.shape[1])
    done, n_train, n_resolve, number = ZERO, ZERO, ZERO, ZERO
    while True:
        n_index = min(max_blocks, n_blocks - done - n_train - n_resolve)
        for task in range(n_train):
            begin = _cycles()
            _train_block(done + task, task, work, model, config, n_nodes, current, scratch)
            ticks[ZERO, number, task] = _cycles() - begin
        for shard in range(n_shards):
            begin = _cycles()
            resolve_shared_rows(
                shard, n_resolve, model, n_nodes, following, workspace.slots, workspace.first_row, workspace.firsts
            )
            ticks[ONE, number, shard] = _cycles() - begin
        for first in range(ZERO, n_index, U(INDEX_TOGETHER)):
            begin = _cycles()
            for block in range(first, min(first + U(INDEX_TOGETHER), n_index)):
                index_rows(done + n_train + n_resolve + block, block, work, model, config, upcoming, scratch.slots)
            ticks[U(2), number, first // U(INDEX_TOGETHER)] = _cycles() - begin
        for shard in range(n_shards if n_train else ZERO):
            begin = _cycles()
            merge_copies(shard, model, config, n_nodes, current)
            ticks[U(3), number, shard] = _cycles() - begin
        done += n_train
        n_train, n_resolve = n_resolve, n_index
        current, following, upcoming = following, upcoming, current
        number += ONE
        if n_train + n_resolve == ZERO:
            return number


@njit(nogil=True)
def pass_around(counters, number, count):
    """Count up to `count` with another thread, taking turns."""
    for turn in range(number, count, 2):
        while atomic_load(counters, 0) != turn:
            pass
        atomic_add(counters, 0, 1)
