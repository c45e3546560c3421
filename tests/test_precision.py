"""The program that measures tables of 16 bits: its formats are those of NumPy, and its trainer is a plain one."""

from __future__ import annotations

import platform

import numpy as np
import pytest

import efge
import precision
from precision_kernels import DIM, FORMATS, make_adder, make_updater


@pytest.fixture(scope="module")
def numbers():
    """Numbers of all sizes that vectors have, rows of one size each; some are subnormal in float16."""
    rng = np.random.default_rng(0)
    return (rng.standard_normal((200, DIM)) * 10.0 ** rng.integers(-8, 2, (200, 1))).astype(np.float32)


def neighbors(x, name):
    """The largest number of a format that is at most x, and the smallest one above it."""
    fraction, least = (7, -126) if name.startswith("bfloat16") else (10, -14)
    spacing = 2.0 ** (np.maximum(np.floor(np.log2(np.abs(x, dtype=np.float64))), least) - fraction)
    low = np.floor(x / spacing) * spacing
    return low, low + spacing


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_rounding_to_nearest_chooses_the_closer_neighbor(numbers, name):
    low, high = neighbors(numbers, name)
    rounded = precision.round_table(numbers, name)
    assert np.abs(rounded - numbers.astype(np.float64)) == pytest.approx(
        np.minimum(numbers - low, high - numbers), rel=1e-9
    )
    if name == "float16":
        assert np.array_equal(rounded, numbers.astype(np.float16))


@pytest.mark.parametrize("name", ["bfloat16, stochastic", "float16, stochastic"])
def test_stochastic_rounding_chooses_a_neighbor_and_has_no_bias(numbers, name):
    low, high = neighbors(numbers, name)
    rounded = precision.round_table(numbers, name)
    assert ((rounded == low) | (rounded == high)).all()
    # The part of the spacing that rounding adds has mean 0 and a standard deviation of at most 1/2: 25,600 numbers.
    assert abs(np.mean((rounded - numbers.astype(np.float64)) / (high - low))) < 4 * 0.5 / np.sqrt(numbers.size)


def test_float32_is_stored_as_it_is(numbers):
    assert np.array_equal(precision.round_table(numbers, "float32"), numbers)


@pytest.mark.parametrize("name", ["float32", "float16"])
def test_a_visited_row_moves_as_in_numpy(name):
    rng = np.random.default_rng(1)
    rows = rng.random((3, DIM), np.float32).astype(np.float16).astype(np.float32)
    center, rate, order = rng.random(DIM, np.float32), np.float32(0.01), np.array([2, 0])
    table, gain = rows.astype(name).view(FORMATS[name][0]), np.zeros(DIM, np.float32)
    make_updater(name)(table, order, center, gain, rate, 1)
    steps = [rate * (np.float32(0.1) - center @ rows[row]) for row in order]
    expected = rows.copy()
    expected[order] += np.outer(steps, center)
    assert gain == pytest.approx(steps @ rows[order], rel=1e-4)
    assert np.allclose(table.view(name), expected, rtol=1e-3 if name == "float16" else 1e-5)
    make_adder(name)(table, order, np.ones((32, DIM), np.float32), 1)
    expected[order] += 1
    assert np.allclose(table.view(name), expected, rtol=2e-3 if name == "float16" else 1e-5)


@pytest.mark.parametrize(("name", "each_step"), [("float16", False), ("bfloat16, stochastic", True)])
def test_the_trainer_separates_two_cliques(name, each_step):
    cliques = [(i + 10 * k, j + 10 * k) for k in range(2) for i in range(10) for j in range(i)]
    graph = efge.as_graph([*cliques, (0, 10)])
    vectors = precision.train(graph, "bernoulli", name, each_step, seed=0, walks_per_node=200)
    side = np.array([int(node) >= 10 for node in graph.names])
    lengths = np.linalg.norm(vectors, axis=1)
    cosines = vectors @ vectors.T / np.outer(lengths, lengths)
    same = side[:, None] == side
    assert cosines[same].mean() > cosines[~same].mean() + 0.3
    if each_step:
        assert np.array_equal(vectors, precision.round_table(vectors, "bfloat16"))


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the names of registers are those of x86")
def test_the_width_of_vectors_is_read_from_the_compiled_code():
    loop = precision.make_loops(24)["add", "float32"]
    loop.function(*loop.arguments)
    assert loop.vector_bits() in (128, 256, 512)
