"""LLVM emits machine code of the kernels for processors and systems that the tests do not run on."""

from __future__ import annotations

import numpy as np
import pytest
from llvmlite import binding
from numba import njit, types
from numba.core.codegen import CPUCodeLibrary

from efge.kernels import sgd_step
from efge.kernels.common import REORDER, U
from efge.kernels.intrinsics import atomic_add, atomic_load, high_product, prefetch
from efge.kernels.sgd import SGDConfig

# An instruction that shows for which processor the code is: it multiplies and adds, or adds, whole vectors.
TARGETS = {
    "aarch64-unknown-linux-gnu": "fmla",
    "arm64-apple-macosx11": "fmla",
    "aarch64-pc-windows-msvc": "fmla",
    "x86_64-pc-windows-msvc": "addps",
    "x86_64-apple-macosx10.15": "addps",
}
# Compiled anew, whatever was compiled before.
train = njit(fastmath=REORDER)(sgd_step.sgd_step.py_func)
wait = njit(sgd_step.wait_for_all.py_func)


@njit
def step(centers, table, rows, observations, splines, config, scores, new_center, counters, threads):
    """Use every intrinsic: those of a step, and those of threads that share work."""
    wait(counters, threads)
    prefetch(table, atomic_add(counters, 0, 1) + atomic_load(counters, 1))
    center, rate = high_product(U(1), U(centers.shape[0])), np.float32(0.1)
    rest = U(0), U(8), observations, splines, config, rate, scores, scores, new_center
    return train(centers, center, table, rows, *rest)


@pytest.fixture(scope="module")
def modules():
    """What Numba gives to LLVM for a step: the code of each function, before it is optimized for this machine."""
    texts, add = [], CPUCodeLibrary.add_ir_module
    matrix, vector, counters = types.float32[:, ::1], types.float32[::1], types.int64[::1]
    config = types.NamedTuple([types.float64] * len(SGDConfig._fields), SGDConfig)
    arguments = (matrix, matrix, types.uint64[::1], matrix, types.float32[:, :, ::1], config, vector, vector)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CPUCodeLibrary, "add_ir_module", lambda self, code: (texts.append(str(code)), add(self, code)))
        step.compile((*arguments, counters, types.int64))
    return texts


@pytest.mark.parametrize("triple", TARGETS)
def test_a_step_becomes_code_of_another_machine(modules, triple):
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    machine = binding.Target.from_triple(triple).create_target_machine(opt=2)
    emitted = ""
    for text in modules:
        lines = [line for line in text.splitlines() if not line.startswith(("target triple", "target datalayout"))]
        module = binding.parse_assembly("\n".join(lines))
        module.triple, module.data_layout = triple, str(machine.target_data)
        module.verify()
        emitted += machine.emit_assembly(module)
    assert TARGETS[triple] in emitted
    assert sgd_step.YIELD_CORE in emitted
