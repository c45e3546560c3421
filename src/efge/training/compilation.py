"""Compiling the training kernel in another process, while this one reads the graph and compiles the other kernels.

That takes as long as all other kernels of a fit together, and Numba compiles in one thread only. The other process
saves its code in Numba's cache. Whatever happens to it, the only consequence is that this process compiles, too.
"""

from __future__ import annotations

import atexit
import gc
import subprocess
import sys
from contextlib import suppress
from typing import Any

import numpy as np

from efge.kernels import sgd as kernel
from efge.kernels.caching import can_compile_elsewhere, expect_from_elsewhere
from efge.kernels.sgd_rows import Round, Workspace
from efge.system import available_memory, available_threads, start_python

# A compiler takes about 250 MB.
_MIN_MEMORY = 1 << 30
# A process that takes longer than this is given up. A slow machine may need most of a minute.
_MAX_SECONDS = 120.0
# The paths come from this process: by itself, Python would also import modules of the current folder.
_CODE = (
    "import sys; sys.path[:] = sys.argv[1:];from efge.training.compilation import compile_training; compile_training()"
)


def compile_ahead() -> None:
    """Let another process compile the training kernel, if it is not in the cache and cores and memory suffice."""
    memory = available_memory()
    if available_threads() < 2 or (memory is not None and memory < _MIN_MEMORY):
        return
    if not can_compile_elsewhere(kernel.train):
        return
    from numba.core import config

    folder: str = getattr(config, "CACHE_DIR", "")
    process = start_python(_CODE, *map(str, sys.path), **({"NUMBA_CACHE_DIR": folder} if folder else {}))
    if process is not None:
        atexit.register(_stop, process)
        expect_from_elsewhere(kernel.train, lambda: _wait(process))


def _wait(process: subprocess.Popen[bytes]) -> None:
    with suppress(subprocess.TimeoutExpired):
        process.wait(_MAX_SECONDS)
    _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Stop a process; nothing happens if it has ended."""
    process.kill()
    process.wait()


def compile_training() -> None:
    """Compile the training kernel, and save it in Numba's cache."""
    from numba import typeof

    # This process ends soon, and collecting garbage would take a fifth of its time.
    gc.disable()
    kernel.train.compile(tuple(map(typeof, _arguments())))


def _arguments() -> tuple[Any, ...]:
    """Return arguments of the training kernel with exactly the types that it is called with."""
    int32, int64, uint32, float32 = (np.zeros(0, kind) for kind in (np.int32, np.int64, np.uint32, np.float32))
    table, key = np.zeros((0, 0), np.float32), np.uint64(0)
    work = kernel.Work(int32, int64, int64, key, key, 0)
    model = kernel.Model(table, table, np.zeros((0, 0, 0), np.float32), uint32, int32, int64, int32, float32)
    config = kernel.SGDConfig(1, 1, 1, 1, 1, 1, 0.0, 0.0, 0.0, 0.0, 0.0)
    rows = Round(
        row_node=int32,
        row_location=int64,
        bounds=np.zeros((0, 0), np.int64),
        position_row=int32,
        negative_row=int32,
        path_start=int64,
        path_step=int32,
        shard_row=int32,
        shard_start=np.zeros((0, 0), np.int64),
        first_copy=np.zeros((0, 0), np.int32),
        other_copy=np.zeros((0, 0, 0), np.int32),
        copy_start=int64,
        copy_count=np.zeros((0, 0, 0), np.int64),
    )
    workspace = Workspace(rows, rows, rows, uint32, uint32, np.zeros((0, 0), np.uint32), 0, int64)
    return 0, 0, work, model, config, workspace
