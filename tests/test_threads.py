"""Results do not depend on the number of threads that BLAS may use, nor on the number of cores."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import efge
from efge import parallel
from efge.linalg import multiply
from efge.parallel import single_threaded_blas, single_threaded_openmp
from helpers import blas_threads

PROGRAM = Path(__file__).with_name("thread_digests.py")


def digests(threads, *names, cores=None, **environment):
    """Return the digests of results in a process that may use a number of threads for BLAS, and some or all cores."""
    counts = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    done = subprocess.run(
        [sys.executable, PROGRAM, *names],
        env=os.environ | counts | environment,
        preexec_fn=None if cores is None else partial(os.sched_setaffinity, 0, cores),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    if cores is None and (os.cpu_count() or 1) >= threads:
        assert found["blas threads"] == threads
    return found["digests"]


def test_netmf_is_the_same_with_any_number_of_blas_threads():
    names = ("netmf", "netmf small", "netmf_low_rank small")
    assert digests(1, *names) == digests(2, *names)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_result_depends_on_the_number_of_blas_threads_or_of_cores():
    expected = digests(1)
    assert digests(2) == expected
    assert digests(2, PYTHONHASHSEED="7") == expected
    if hasattr(os, "sched_setaffinity"):
        assert digests(2, cores={min(os.sched_getaffinity(0))}) == expected


# The limit ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def two_threads():
    if (os.cpu_count() or 1) < 2:
        pytest.skip("BLAS uses one thread anyway")
    with threadpool_limits(2, "blas"):
        yield


@pytest.mark.usefixtures("two_threads")
def test_blas_has_one_thread_until_the_last_user_ends():
    begun, ended = threading.Event(), threading.Event()

    def use():
        with single_threaded_blas():
            begun.set()
            ended.wait(60)

    other = threading.Thread(target=use)
    other.start()
    begun.wait(60)
    with single_threaded_blas():
        ended.set()
        other.join()
        assert blas_threads() == {1}
    assert blas_threads() == {2}


@pytest.mark.parametrize("before", [None, "3"])
def test_the_variable_of_openmp_is_restored_by_the_last_of_several_users(monkeypatch, before):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if before is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", before)
    first, second = single_threaded_openmp(), single_threaded_openmp()
    first.__enter__()
    second.__enter__()
    # The second one found a 1, which is not to stay when it ends.
    first.__exit__(None, None, None)
    assert os.environ["OMP_NUM_THREADS"] == "1"
    second.__exit__(None, None, None)
    assert os.environ.get("OMP_NUM_THREADS") == before


@pytest.mark.usefixtures("two_threads")
def test_the_limit_holds_in_a_worker_of_a_thread_that_has_set_another_one():
    def use():
        with single_threaded_blas():
            seen.append(blas_threads())
        seen.append(blas_threads())

    seen = []
    with threadpool_limits(2, "blas"):
        worker = threading.Thread(target=use)
        worker.start()
        worker.join()
        assert seen == [{1}, {2}]
        with threadpool_limits(1, "blas"):
            assert blas_threads() == {1}
    assert blas_threads() == {2}


@pytest.mark.usefixtures("two_threads")
def test_an_error_lifts_the_limit():
    with pytest.raises(ValueError, match="stop here"), single_threaded_blas():
        raise ValueError("stop here")
    assert blas_threads() == {2}


def test_the_blas_that_scipy_loads_later_is_limited_too_and_both_limits_end():
    script = """
import sys
import numpy
from threadpoolctl import threadpool_info
from efge.parallel import single_threaded_blas, single_threaded_openmp

def show():
    print(sorted(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"))

with single_threaded_blas():
    assert "scipy" not in sys.modules
    with single_threaded_blas(scipy=True):
        show()
    show()
show()
"""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.stderr == ""
    both, still, after = map(json.loads, done.stdout.splitlines())
    assert set(both) == set(still) == {1}
    assert set(after) == {min(2, os.cpu_count() or 1)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_process_that_forks_while_another_thread_sets_the_limit_leaves_the_child_free_to_set_it():
    stop = threading.Event()

    def use():
        while not stop.is_set():
            with single_threaded_blas():
                pass

    def use_once():
        with single_threaded_blas():
            pass

    user = threading.Thread(target=use)
    user.start()
    try:
        context = multiprocessing.get_context("fork")
        for _ in range(20):
            child = context.Process(target=use_once)
            child.start()
            child.join(30)
            assert child.exitcode == 0
    finally:
        stop.set()
        user.join()


def test_every_module_limits_blas_in_the_same_way():
    """Limits of threadpoolctl itself are lifted by the first thread that ends, while others still compute."""
    # The experiments measure other libraries, in processes of their own.
    sources = {
        path.relative_to(Path(efge.__file__).parent).as_posix(): path.read_text(encoding="utf-8")
        for path in Path(efge.__file__).parent.rglob("*.py")
    }
    others = {name for name, text in sources.items() if re.search(r"threadpool_limits\((?!1, \"openmp\"\))", text)}
    assert others == {"experiments/judging.py", "experiments/scoring.py"}


# Products -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [0, 1, 255, 256, 257, 1000])
def test_products_of_blocks_are_those_of_numpy_and_the_same_in_any_number_of_threads(rows, monkeypatch):
    random = np.random.default_rng(rows)
    left, right = random.normal(size=(rows, 300)), random.normal(size=(300, 40))
    products = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(parallel, "available_threads", lambda threads=threads: threads)
        with single_threaded_blas():
            products.append(multiply(left, right))
    assert products[0].tobytes() == products[1].tobytes() == products[2].tobytes()
    np.testing.assert_allclose(products[0], left @ right, rtol=1e-12, atol=1e-12)
