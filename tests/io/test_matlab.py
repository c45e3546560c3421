"""Matlab files are read like SciPy reads them, and invalid ones are errors."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
import scipy.io
import scipy.sparse

import efge
from efge.io import files, matlab
from efge.io.matlab import read_matlab


def matlab_bytes(content, **options) -> bytes:
    sink = io.BytesIO()
    scipy.io.savemat(sink, content, **options)
    return sink.getvalue()


@pytest.mark.filterwarnings("ignore:The default value for `spmatrix`:DeprecationWarning")
@pytest.mark.parametrize("format_", ["4", "5"])
@pytest.mark.parametrize("kind", ["sparse", "full", "integers", "complex"])
def test_matlab_files_are_read_like_scipy_reads_them(write, format_, kind):
    full = np.arange(9.0).reshape(3, 3)
    sparse, integers = scipy.sparse.csc_array(full - 4), full.astype(np.int16)
    matrix = {"sparse": sparse, "full": full, "integers": integers, "complex": full + 1j}[kind]
    data = matlab_bytes({"first": matrix, "word": "text", "last": full.T.copy()}, format=format_)
    ours, theirs = read_matlab(data, "a.mat"), scipy.io.loadmat(io.BytesIO(data))
    assert list(ours) == ["first", "last"]
    for name, value in ours.items():
        plain, expected = (m.toarray() if scipy.sparse.issparse(m) else m for m in (value, theirs[name]))
        assert np.array_equal(plain, expected)


def test_matlab_files_of_either_byte_order_are_read(write):
    def element(kind, data):
        return struct.pack(">II", kind, len(data)) + data + bytes(-len(data) % 8)

    values = np.array([[0, 2.5], [2.5, 0]])
    parts = [
        (6, struct.pack(">II", 6, 0)),
        (5, struct.pack(">ii", 2, 2)),
        (1, b"net"),
        (9, values.astype(">f8").tobytes()),
    ]
    matrix = element(14, b"".join(element(kind, data) for kind, data in parts))
    graph = efge.read_graph(write("a.mat", b"MATLAB".ljust(124) + b"\1\0MI" + matrix))
    assert graph.weights.tolist() == [2.5, 2.5]


def test_deep_structures_are_an_error_and_cells_are_ignored(write):
    inner: object = np.ones((2, 2))
    for _ in range(60):
        cell = np.empty((1, 1), object)
        cell[0, 0] = inner
        inner = cell
    nested = {"a": {"b": 1.0}}
    for _ in range(30):
        nested = {"a": nested}
    graph = efge.read_graph(write("a.mat", matlab_bytes({"cells": inner, "net": np.ones((2, 2))})))
    assert graph.n_edges == 3
    with pytest.raises(efge.GraphError, match=r"b.mat: structures are nested at most 20 deep"):
        efge.read_graph(write("b.mat", matlab_bytes({"s": nested})))


@pytest.mark.parametrize(
    "header",
    [(60, 1, 1, 0, 2), (3, 1, 1, 0, 2), (100, 1, 1, 0, 2), (0, -1, 1, 0, 2), (0, 1, -1, 0, 2), (0, 1, 1, 0, 0)],
    ids=["type", "kind", "reserved", "rows", "columns", "name"],
)
def test_invalid_headers_of_version_4_are_an_error(header):
    data = struct.pack("<5i", *header) + b"a\0" + bytes(8)
    with pytest.raises(efge.GraphError, match=r"a.mat: the header of a matrix is not valid"):
        read_matlab(data, "a.mat")
    assert read_matlab(struct.pack("<5i", 0, 1, 1, 0, 2) + b"a\0" + bytes(8), "a.mat")["a"].tolist() == [[0.0]]


def test_a_number_of_the_other_byte_order_is_no_header_of_version_4():
    """1000 says that numbers are big-endian, and cannot be little-endian itself."""
    data = struct.pack("<5i", 1000, 1, 1, 0, 2) + b"a\0" + bytes(8)
    with pytest.raises(efge.GraphError, match=r"a.mat: the header of a matrix is not valid"):
        read_matlab(data, "a.mat")


def test_matrices_are_decompressed_up_to_a_limit_for_all_of_them(monkeypatch):
    for module in (files, matlab):
        monkeypatch.setattr(module, "MAX_UNCHECKED_SIZE", 10_000)
        monkeypatch.setattr(module, "MAX_EXPANSION", 2)
    one, two = (
        matlab_bytes({f"m{i}": np.zeros((1, 1000)) for i in range(count)}, do_compression=True) for count in (1, 2)
    )
    assert read_matlab(one, "a.mat")["m0"].shape == (1, 1000)
    with pytest.raises(efge.GraphError, match=r"a.mat: "):
        read_matlab(two, "a.mat")


TYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_numbers_of_every_type_and_names_of_every_length_are_read(dtype, compressed):
    """Up to four bytes are in the tag of an element, and others are padded to eight."""
    content = {"n" * length: np.arange(1, length + 2, dtype=dtype)[None, :] for length in range(1, 10)}
    found = read_matlab(matlab_bytes(content, do_compression=compressed), "a.mat")
    assert {name: (value.dtype, value.tolist()) for name, value in found.items()} == {
        name: (value.dtype, value.tolist()) for name, value in content.items()
    }


@pytest.mark.parametrize("depth", [20, 21])
def test_structures_are_nested_twenty_deep_at_most(depth):
    nested = np.ones((2, 2))
    for _ in range(depth):
        nested = {"a": nested}
    if depth > 20:
        with pytest.raises(efge.GraphError, match="nested at most 20 deep"):
            read_matlab(matlab_bytes({"s": nested}), "a.mat")
        return
    found = read_matlab(matlab_bytes({"s": nested}), "a.mat")["s"]
    for _ in range(depth):
        found = found["a"]
    assert found.tolist() == [[1, 1], [1, 1]]


def version_4(values, number, order, kind=0, is_complex=0):
    """Return a matrix of version 4, with numbers of a type."""
    dtype = f"{order}{('f8', 'f4', 'i4', 'i2', 'u2', 'u1')[number]}"
    code = (1000 if order == ">" else 0) + 10 * number + kind
    header = struct.pack(f"{order}5i", code, *values.shape, is_complex, 4)
    parts = (values.real, values.imag) if is_complex else (values,)
    return header + b"net\0" + b"".join(part.T.astype(dtype).tobytes() for part in parts)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("number", range(6))
def test_matrices_of_version_4_are_read_in_every_type_and_byte_order(number, order):
    first, second = np.arange(6).reshape(2, 3), np.arange(4).reshape(4, 1)
    data = version_4(first, number, order)
    assert read_matlab(data, "a.mat")["net"].tolist() == first.tolist()
    both = data + version_4(second, number, order).replace(b"net\0", b"bar\0")
    assert read_matlab(both, "a.mat")["bar"].tolist() == second.tolist()
    for size in range(20, len(both)):
        if size != len(data):
            with pytest.raises(efge.GraphError, match=r"within it|bytes are left"):
                read_matlab(both[:size], "a.mat")
    if number < 2:
        values = first + 1j * first[::-1]
        assert read_matlab(version_4(values, number, order, is_complex=1), "a.mat")["net"].tolist() == values.tolist()


def test_sparse_matrices_of_version_4_have_entries_within_their_shape():
    def read(*lines):
        return read_matlab(version_4(np.array(lines, float), 0, "<", kind=2), "a.mat")["net"].toarray().tolist()

    assert read((1, 2, 5), (2, 3, 7), (2, 3, 0)) == [[0, 5, 0], [0, 0, 7]]
    assert read((1, 2, 5, 1), (2, 2, 0, 0)) == [[0, 5 + 1j], [0, 0]]
    for wrong in ((3, 2, 5), (2, 4, 5), (0, 1, 5), (1, 0, 5)):
        with pytest.raises(efge.GraphError, match=r"within its shape, 2 x 3"):
            read(wrong, (2, 3, 0))
    for shape in ((-1, 3, 0), (1 << 31, 3, 0)):
        with pytest.raises(efge.GraphError, match=r"within its shape"):
            read((1, 1, 5), shape)
    assert read((0, 0, 0)) == []
