"""Kernels are compiled for the machine they run on; here, the same code is emitted for machines we do not have."""

from __future__ import annotations

import subprocess
import sys

import pytest

TARGETS = ["aarch64-unknown-linux-gnu", "x86_64-pc-windows-msvc"]

# In a process of its own: LLVM ends a process that asks for what a machine does not have.
EMIT = r"""
import re, sys
import networkx as nx
from llvmlite import binding
from numba import njit
import efge
from efge.kernels import sgd, sgd_partitioned, walks

binding.initialize_all_targets()
binding.initialize_all_asmprinters()
for partitions in (None, 2):
    efge.EFGE.paper(dim=4, walks_per_node=1, seed=1, partitions=partitions).fit(nx.path_graph(9))
for kernel in (sgd.train, sgd_partitioned.train, walks.first_order_walks):
    # Code from the cache has no text.
    fresh = njit(nogil=True)(kernel.py_func)
    fresh.compile(kernel.signatures[0])
    (text,) = fresh.inspect_llvm().values()
    # Numba's own counting of references has been written for this machine already: here it is a call.
    lines = [line.replace(" immarg", "") if "x86.atomic" in line else line for line in text.splitlines()]
    lines = [line.replace("llvm.x86.atomic", "numba.atomic") for line in lines if not line.startswith("target ")]
    text = "\n".join(lines)
    for triple in sys.argv[1:]:
        machine = binding.Target.from_triple(triple).create_target_machine(opt=2)
        module = binding.parse_assembly(f'target triple = "{triple}"\n{text}')
        module.data_layout = str(machine.target_data)
        module.verify()
        assembly = machine.emit_assembly(module)
        print(triple, kernel.py_func.__name__, kernel.py_func.__name__ in assembly)
"""


@pytest.mark.slow
def test_kernels_emit_code_for_arm_and_windows():
    done = subprocess.run([sys.executable, "-c", EMIT, *TARGETS], capture_output=True, text=True, check=False)
    names = ("train", "train", "first_order_walks")
    expected = [f"{triple} {name} True" for name in names for triple in TARGETS]
    assert done.stdout.splitlines() == expected, done.stderr[-2000:]
