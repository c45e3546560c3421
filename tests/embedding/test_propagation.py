"""Graph filters, compared with dense matrices, their eigenvalues and singular values."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial.chebyshev import chebval

import efge
import reference
from efge.embedding import propagation
from efge.embedding.propagation import filter_vectors, propagate_vectors
from efge.kernels.sparse import combine_rows
from efge.linalg import chebyshev_coefficients, column_signs
from helpers import random_graph

KINDS = [(False, False), (False, True), (True, False), (True, True)]
each_kind = pytest.mark.parametrize(("directed", "weighted"), KINDS)


def random_vectors(n, dim, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)


def dense_sum(graph):
    """A + I, where A is symmetric and its entries have the mean 1."""
    matrix = graph.to_scipy().toarray()
    if graph.directed:
        matrix = matrix + matrix.T
    return matrix / matrix[matrix > 0].mean() + np.eye(len(matrix))


def apply_by_eigenvalues(graph, function, vectors):
    """Multiply the part of the vectors at each eigenvalue of L = I - P by a function of the eigenvalue."""
    total = dense_sum(graph)
    root = np.sqrt(total.sum(axis=1))
    # P = D^-1 A' is similar to the symmetric matrix D^-1/2 A' D^-1/2.
    eigenvalues, basis = np.linalg.eigh(total / np.outer(root, root))
    return (basis * function(1 - eigenvalues) @ basis.T @ (root[:, None] * vectors)) / root[:, None]


def unit_singular_vectors(matrix):
    left, values, _ = np.linalg.svd(matrix, full_matrices=False)
    vectors = left * np.sqrt(values)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors * column_signs(vectors)


@each_kind
@pytest.mark.parametrize("method", ["band-pass", "prone", "average"])
def test_filtered_vectors_are_smooth_ones_times_the_matrix_that_is_returned(method, directed, weighted):
    graph = random_graph(1, directed, weighted)
    vectors = random_vectors(graph.n_nodes, 5)
    filtered = vectors.copy()
    matrix = filter_vectors(filtered, graph, method)

    def band(x):
        return np.exp(0.5 - 0.25 * (x - 0.2) ** 2) - 1

    smooth = apply_by_eigenvalues(graph, (lambda x: (1 - x) ** 2) if method == "average" else band, vectors)
    if method != "average":
        smooth = apply_by_eigenvalues(graph, lambda x: 1 - x, smooth)
    expected = smooth @ matrix
    lengths = np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(
        filtered / np.linalg.norm(filtered, axis=1, keepdims=True), expected / lengths, atol=1e-4
    )


@each_kind
@pytest.mark.parametrize("in_place", [False, True])
def test_the_kernel_agrees_with_dense_matrices(directed, weighted, in_place):
    graph = random_graph(1, directed, weighted)
    matrix = graph.to_scipy()
    x, y, sums = (random_vectors(graph.n_nodes, 16, seed) for seed in range(3))
    scales, factors = np.random.default_rng(3).random(graph.n_nodes), (0.3, -0.7, 1.1)
    expected, expected_sums = reference.combine_rows(matrix.toarray(), scales, factors, x, y, sums)
    weights = matrix.data.astype(np.float32) if weighted else np.empty(0, np.float32)
    out = y if in_place else np.full_like(x, 7)
    for low, high in ((0, 7), (7, graph.n_nodes)):
        combine_rows(graph.indptr, graph.indices, weights, scales, factors, x, y, out, sums, low, high)
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(sums, expected_sums, rtol=1e-5, atol=1e-5)


@each_kind
@pytest.mark.parametrize("dim", [3, 16, 21])
def test_the_filter_of_prone_is_a_gaussian_in_the_eigenvalues(directed, weighted, dim):
    """With the default number of terms, the expansion equals the function that it approximates."""
    graph = random_graph(2, directed, weighted)
    vectors = random_vectors(graph.n_nodes, dim)
    kept = apply_by_eigenvalues(graph, lambda x: 1 - np.exp(0.5 - 0.5 * (x - 0.2) ** 2 / 2), vectors)
    expected = unit_singular_vectors(dense_sum(graph) @ kept)
    result = efge.propagate(efge.Embedding(vectors, graph.names), graph, "prone")
    assert result.names.tolist() == graph.names.tolist()
    np.testing.assert_allclose(result.vectors, expected, atol=2e-4)


@each_kind
@pytest.mark.parametrize(("dim", "exponent"), [(3, 0.7), (21, 0.7), (5, 0.0), (5, 1.0)])
def test_the_band_pass_keeps_lengths_and_raises_singular_values_to_a_power(directed, weighted, dim, exponent):
    graph = random_graph(2, directed, weighted)
    vectors = random_vectors(graph.n_nodes, dim)
    amplified = apply_by_eigenvalues(graph, lambda x: np.exp(0.5 - 0.5 * (x - 0.2) ** 2 / 2) - 1, vectors)
    left, values, right = np.linalg.svd(dense_sum(graph) @ amplified, full_matrices=False)
    directions = left * values**exponent @ right
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = lengths * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    result = propagate_vectors(vectors.copy(), graph, exponent=exponent)
    np.testing.assert_allclose(result, expected, atol=1e-3)


def gaussian(theta, mu):
    """The filter's function of t, for eigenvalues 1 + t of L."""
    return lambda t: np.exp(theta - theta * (1 + t - mu) ** 2 / 2)


@pytest.mark.parametrize("order", [1, 2, 3, 6])
def test_the_expansion_ends_after_the_given_number_of_terms(order):
    graph = random_graph(3, False, True)
    vectors = random_vectors(graph.n_nodes, 5)
    coefficients = chebyshev_coefficients(gaussian(2.0, 0.9), order)
    kept = apply_by_eigenvalues(graph, lambda x: 1 - chebval(x - 1, coefficients), vectors)
    expected = unit_singular_vectors(dense_sum(graph) @ kept)
    result = efge.propagate(efge.Embedding(vectors, graph.names), graph, "prone", order=order, theta=2.0, mu=0.9)
    np.testing.assert_allclose(result.vectors, expected, atol=2e-4)


@pytest.mark.parametrize(("theta", "mu"), [(0.01, 0.2), (0.5, 0.0), (5.0, 1.0), (20.0, 2.0)])
def test_coefficients_are_those_of_the_function(theta, mu):
    t = np.linspace(-1, 1, 50)
    function = gaussian(theta, mu)
    coefficients = chebyshev_coefficients(function, 60)
    np.testing.assert_allclose(chebval(t, coefficients), function(t), atol=1e-14 * np.exp(theta))
    np.testing.assert_allclose(chebyshev_coefficients(function, 5), coefficients[:5], atol=1e-14 * np.exp(theta))


@pytest.mark.parametrize("mu", [0.0, 0.2, 2.0])
def test_default_terms_are_as_many_as_32_bits_tell_apart(mu):
    t = np.linspace(-1, 1, 500)
    function = gaussian(0.5, mu)
    order = propagation.check_propagation("band-pass")["order"]
    # Sums of tens of numbers of 32 bits have errors of this size.
    assert np.abs(chebval(t, chebyshev_coefficients(function, order)) - function(t)).max() < 1e-6
    assert np.abs(chebval(t, chebyshev_coefficients(function, order - 2)) - function(t)).max() > 1e-6


@each_kind
@pytest.mark.parametrize(("steps", "alpha"), [(1, 0.0), (3, 0.0), (4, 0.3)])
def test_the_average_is_a_power_of_the_transition_matrix(directed, weighted, steps, alpha):
    graph = random_graph(4, directed, weighted)
    vectors = random_vectors(graph.n_nodes, 18)
    transition = dense_sum(graph) / dense_sum(graph).sum(axis=1, keepdims=True)
    expected = vectors
    for _ in range(steps):
        expected = (1 - alpha) * transition @ expected + alpha * vectors
    result = efge.propagate(efge.Embedding(vectors, graph.names), graph, "average", steps=steps, alpha=alpha)
    np.testing.assert_allclose(result.vectors, expected, atol=1e-5)


@pytest.mark.parametrize("method", ["band-pass", "prone", "average"])
@each_kind
def test_any_number_of_threads_gives_the_same_bytes(method, directed, weighted, monkeypatch):
    monkeypatch.setattr(propagation, "_MIN_TASK_SIZE", 100)
    monkeypatch.setattr(propagation, "_CHUNK_ROWS", 64)
    graph = random_graph(5, directed, weighted, n=500, m=2000)
    vectors = random_vectors(graph.n_nodes, 20)
    results = [propagate_vectors(vectors.copy(), graph, method, threads=threads).tobytes() for threads in (1, 2, 3)]
    assert results[0] == results[1] == results[2]
    assert results[0] != vectors.tobytes()


@pytest.mark.parametrize("tasks", [1, 3, 8])
def test_tasks_make_up_all_rows(tasks, monkeypatch):
    monkeypatch.setattr(propagation, "_MIN_TASK_SIZE", 1)
    monkeypatch.setattr(propagation, "_TASKS_PER_THREAD", tasks)
    star = efge.as_graph([(0, i) for i in range(1, 50)])
    rows = propagation._split_rows(star.indptr, 1)
    assert [row for task in rows for row in range(task.start, task.stop)] == list(range(50))
    assert propagation._split_rows(efge.as_graph([]).indptr, 2) == [slice(0, 0)]


def test_a_thread_gets_four_tasks_unless_they_are_small():
    """A row counts as an entry, and a task has 16,384 at least."""
    for rows, threads, tasks in ((100, 4, 1), (16_383, 4, 1), (16_384, 4, 2), (200_000, 1, 4), (200_000, 2, 8)):
        assert len(propagation._split_rows(np.arange(rows + 1), threads)) == tasks


def test_a_table_is_filtered_in_place_with_little_memory_beside_it():
    """Three blocks of 16 columns, and arrays with an entry for each node, are less than half of 256 columns."""
    import tracemalloc

    n = 20_000
    graph = efge.as_graph(np.column_stack([np.arange(n), (np.arange(n) + 1) % n]))
    vectors = random_vectors(n, 256)
    propagate_vectors(vectors[:, :16].copy(), graph, threads=1)
    tracemalloc.start()
    assert propagate_vectors(vectors, graph, threads=1) is vectors
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # A chunk of rows in 64 bits, which does not grow with the nodes, is there four times at most.
    chunks = 4 * 8 * propagation._CHUNK_ROWS * 256
    assert peak < vectors.nbytes / 2 + chunks


def test_nodes_in_another_order_are_matched_by_name():
    graph = random_graph(6, False, False)
    embedding = efge.Embedding(random_vectors(graph.n_nodes, 6), graph.names)
    shuffled = embedding[np.random.default_rng(0).permutation(embedding.names)]
    for method in ("band-pass", "prone", "average"):
        expected = efge.propagate(embedding, graph, method)
        result = efge.propagate(shuffled, graph, method)
        assert result.names.tolist() == shuffled.names.tolist()
        assert result == expected[shuffled.names]


def test_different_nodes_are_an_error():
    graph = efge.as_graph([("a", "b"), ("b", "c")])
    with pytest.raises(
        efge.EmbeddingError, match=r"must have the same nodes; 'z' is only in the embedding \(Embedding"
    ):
        efge.propagate(efge.Embedding(np.eye(3), ["a", "b", "z"]), graph)
    with pytest.raises(efge.EmbeddingError, match="must have the same nodes; 'b' is only in the graph"):
        efge.propagate(efge.Embedding(np.eye(2), ["c", "a"]), graph)
    with pytest.raises(efge.EmbeddingError, match="an Embedding or a fitted estimator; got ndarray"):
        efge.propagate(np.eye(3), graph)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "low-pass"}, "no method 'low-pass'; known: band-pass, prone, average"),
        ({"steps": 3}, "band-pass has no parameter 'steps'; it has order, theta, mu, exponent"),
        ({"method": "prone", "exponent": 0.5}, "prone has no parameter 'exponent'; it has order, theta, mu"),
        ({"exponent": 1.1}, "exponent must be between 0 and 1; got 1.1"),
        ({"order": 0}, "order must be a positive integer; got 0"),
        ({"theta": 0.0}, "theta must be positive and at most 20; got 0.0"),
        ({"theta": float("nan")}, "theta must be positive and at most 20; got nan"),
        ({"mu": -0.1}, "mu must be between 0 and 2; got -0.1"),
        ({"threads": 0}, "threads must be a positive integer; got 0"),
        ({"method": "average", "mu": 0.2}, "average has no parameter 'mu'; it has steps, alpha"),
        ({"method": "average", "steps": 1.5}, "steps must be a positive integer; got 1.5"),
        ({"method": "average", "alpha": 1.0}, "alpha must be at least 0 and below 1; got 1.0"),
    ],
)
def test_invalid_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        efge.propagate(efge.Embedding(np.eye(2)), [(0, 1)], **options)


def test_a_fitted_estimator_and_any_graph_are_accepted(tmp_path):
    edges = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]
    model = efge.HOPE(dim=3, seed=0).fit(edges)
    (tmp_path / "edges.txt").write_text("".join(f"{u} {v}\n" for u, v in edges))
    assert efge.propagate(model, tmp_path / "edges.txt") == efge.propagate(model.embedding_, edges)


def test_scale_and_rotation_do_not_change_the_filter_of_prone():
    graph = random_graph(7, False, True)
    vectors = random_vectors(graph.n_nodes, 6)
    expected = propagate_vectors(vectors.copy(), graph, "prone")
    for scale in (1e-35, 1e37):
        np.testing.assert_allclose(propagate_vectors(vectors * np.float32(scale), graph, "prone"), expected, atol=1e-4)
    rotation = np.linalg.qr(random_vectors(6, 6, seed=1))[0]
    np.testing.assert_allclose(propagate_vectors(vectors @ rotation, graph, "prone"), expected, atol=1e-4)


def test_the_band_pass_of_scaled_and_rotated_vectors_is_scaled_and_rotated():
    graph = random_graph(7, False, True)
    vectors = random_vectors(graph.n_nodes, 6)
    expected = propagate_vectors(vectors.copy(), graph)
    for scale in (1e-35, 1e37):
        scaled = propagate_vectors(vectors * np.float32(scale), graph)
        np.testing.assert_allclose(scaled / np.float32(scale), expected, atol=1e-4)
    rotation = np.linalg.qr(random_vectors(6, 6, seed=1))[0]
    np.testing.assert_allclose(propagate_vectors(vectors @ rotation, graph), expected @ rotation, atol=1e-4)


def test_sums_of_huge_vectors_without_a_positive_entry_do_not_overflow():
    graph = random_graph(7, False, True)
    vectors = -np.abs(random_vectors(graph.n_nodes, 6))
    expected = propagate_vectors(vectors.copy(), graph, "prone")
    np.testing.assert_allclose(propagate_vectors(vectors * np.float32(1e38), graph, "prone"), expected, atol=1e-4)


def test_the_band_pass_does_not_reverse_vectors_that_change_little_along_edges():
    cliques = [(i, j) for first in (0, 5) for i in range(first, first + 5) for j in range(i) if j >= first]
    vectors = np.repeat(np.eye(2, dtype=np.float32), 5, axis=0)
    np.testing.assert_allclose(propagate_vectors(vectors.copy(), efge.as_graph(cliques)), vectors, atol=1e-5)


@pytest.mark.parametrize("method", ["band-pass", "prone", "average"])
def test_only_ratios_of_weights_matter(method):
    graph = random_graph(8, False, True)
    vectors = random_vectors(graph.n_nodes, 4)
    expected = propagate_vectors(vectors.copy(), graph, method)
    for scale in (1e-300, 7.0, 1e300):
        scaled = efge.Graph(graph.indptr, graph.indices, graph.weights * scale, graph.names)
        np.testing.assert_allclose(propagate_vectors(vectors.copy(), scaled, method), expected, atol=1e-4)
    plain = efge.Graph(graph.indptr, graph.indices, None, graph.names)
    ones = efge.Graph(graph.indptr, graph.indices, np.full(len(graph.indices), 3.0), graph.names)
    unweighted, equal = (propagate_vectors(vectors.copy(), each, method) for each in (plain, ones))
    np.testing.assert_array_equal(unweighted, equal)
    assert not np.allclose(unweighted, expected, atol=1e-2)


@pytest.mark.parametrize("method", ["band-pass", "prone", "average"])
def test_a_directed_graph_with_every_edge_both_ways_is_like_an_undirected_one(method):
    graph = random_graph(9, False, False)
    twin = efge.Graph(graph.indptr, graph.indices, None, graph.names, directed=True)
    vectors = random_vectors(graph.n_nodes, 4)
    undirected, directed = (propagate_vectors(vectors.copy(), each, method) for each in (graph, twin))
    np.testing.assert_array_equal(undirected, directed)


def test_a_self_loop_adds_to_the_weight_of_the_node_itself():
    embedding = efge.Embedding([[3], [0]], ["a", "b"])
    plain, looped = ([("a", "b")], [("a", "b"), ("a", "a")])
    assert efge.propagate(embedding, plain, "average", steps=1).vectors.ravel().tolist() == [1.5, 1.5]
    assert efge.propagate(embedding, looped, "average", steps=1).vectors.ravel().tolist() == [2.0, 1.5]


def test_nodes_without_edges_depend_on_no_other_node():
    graph = efge.as_graph([("a", "b")], nodes=["x", "y", "a", "b"])
    embedding = efge.Embedding([[1, 2], [2, 4], [5, 0], [0, 7]], graph.names)
    averaged = efge.propagate(embedding, graph, "average")
    assert averaged[["x", "y"]] == embedding[["x", "y"]]
    # The vectors of x and y had the same direction, which no change of the singular values changes.
    filtered, unit = efge.propagate(embedding, graph), efge.propagate(embedding, graph, "prone")
    np.testing.assert_allclose(2 * filtered["x"], filtered["y"], atol=1e-6)
    np.testing.assert_allclose(unit["x"], unit["y"], atol=1e-6)
    assert np.linalg.norm(unit["x"]) == pytest.approx(1, abs=1e-6)


def test_zero_vectors_and_dimensions_beyond_the_rank_are_zero():
    graph = efge.as_graph([(0, 1), (1, 2), (3, 4)])
    vectors = np.zeros((5, 4), np.float32)
    vectors[:3] = np.outer([1, 2, -3], [1, 1, 0, 2])
    rows = propagate_vectors(vectors.copy(), graph)
    np.testing.assert_allclose(np.abs(rows), np.abs(vectors), atol=1e-5)
    filtered = propagate_vectors(vectors, graph, "prone")
    assert np.count_nonzero(filtered[:3, 0]) == 3
    assert not filtered[3:].any()
    assert not filtered[:, 1:].any()
    for method in ("band-pass", "prone"):
        assert not propagate_vectors(np.zeros((5, 4), np.float32), graph, method).any()


def test_a_row_that_is_lost_in_rounding_errors_becomes_zero():
    """The last node alone has the last dimension, in which its vector is much shorter than all others."""
    graph = efge.as_graph([(i, (i + 1) % 9) for i in range(9)], nodes=range(10))
    vectors = np.zeros((10, 4), np.float32)
    vectors[:9, :3] = random_vectors(9, 3)
    vectors[9, 3] = 1e-12
    lengths = np.linalg.norm(vectors[:9], axis=1)
    for method, expected in (("band-pass", lengths), ("prone", np.ones(9))):
        filtered = propagate_vectors(vectors.copy(), graph, method)
        np.testing.assert_allclose(np.linalg.norm(filtered[:9], axis=1), expected, rtol=1e-5)
        assert not filtered[9].any()


def test_a_short_row_keeps_its_part_along_the_strongest_axis():
    """Its other part is lost, because the whole table has hardly anything along that axis."""
    vectors = np.array([[1, 0, 0], [0, 2e-6, 0], [1e-9, 0, 2e-9]], np.float32)
    expected = np.diag(np.linalg.norm(vectors, axis=1))
    expected[2] = expected[2, 2], 0, 0
    filtered = propagate_vectors(vectors, efge.as_graph([], nodes=range(3)), exponent=0.0)
    np.testing.assert_allclose(filtered, expected, rtol=1e-5, atol=1e-14)


@pytest.mark.parametrize("method", ["band-pass", "prone", "average"])
def test_graphs_without_edges_or_nodes_are_filtered(method):
    assert propagate_vectors(np.empty((0, 3), np.float32), efge.as_graph([]), method).shape == (0, 3)
    for directed in (False, True):
        graph = efge.as_graph([], nodes=["a", "b"], directed=directed)
        filtered = propagate_vectors(np.array([[3, 4], [6, 8]], np.float32), graph, method)
        assert np.isfinite(filtered).all()
        if method == "average":
            assert filtered.tolist() == [[3, 4], [6, 8]]


@pytest.mark.parametrize("method", ["band-pass", "prone", "average"])
def test_weights_of_all_sizes_give_finite_vectors(method):
    weights = [5e-324, 1e-300, 1.0, 1e300, 1.7e308]
    for directed in (False, True):
        graph = efge.as_graph([(i, i + 1, w) for i, w in enumerate(weights)], directed=directed)
        assert np.isfinite(propagate_vectors(random_vectors(6, 3), graph, method)).all()


def test_the_sum_of_a_million_neighbors_is_exact():
    n = 1_000_000
    star = efge.as_graph(np.column_stack([np.zeros(n, np.int64), np.arange(1, n + 1)]))
    vectors = np.full((n + 1, 1), 0.1, np.float32)
    propagate_vectors(vectors, star, "average", steps=1)
    assert vectors[0, 0] == np.float32(0.1)
