"""npz files: names of many types survive, other tools can read them, malformed ones are errors."""

from __future__ import annotations

import io
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from efge import Embedding
from helpers_embedding import INTEGERS, TEXTS, embeddings, load_error, random_embedding, save_as

SCALARS = TEXTS | INTEGERS | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)

TUPLES = st.recursive(SCALARS | st.none(), lambda part: st.lists(part, max_size=3).map(tuple), max_leaves=5)


@given(embedding=embeddings(SCALARS | TUPLES.filter(lambda name: name is not None)))
def test_npz_keeps_numbers_text_and_tuples(tmp_path, embedding):
    again = Embedding.load(save_as(embedding, tmp_path, "npz"))
    assert again == embedding
    assert repr(list(again)) == repr(list(embedding))


def test_npz_is_readable_without_pickle_and_without_time_stamps(tmp_path):
    embedding = random_embedding(names=["ann", "b\0", "", "é", "dan"])
    path = save_as(embedding, tmp_path, "npz")
    with np.load(path, allow_pickle=False) as arrays:
        assert arrays["format"].item() == b"efge embedding 1"
        assert (arrays["vectors"] == embedding.vectors).all()
        assert arrays["names"].tobytes() == "annb\0édan".encode()
        assert arrays["name_ends"].tolist() == [3, 5, 5, 7, 10]
    with zipfile.ZipFile(path) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}


def write_npz(path, **arrays):
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            data = io.BytesIO()
            np.save(data, array, allow_pickle=True)
            archive.writestr(f"{name}.npy", array if isinstance(array, bytes) else data.getvalue())
    return path


def npy_header(descr, shape):
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (
            {"format": np.array(b"efge embedding 2")},
            "has the entry 'format', b'efge embedding 1'; got b'efge embedding 2'",
        ),
        ({"format": None}, "got None"),
        ({"vectors": None}, "There is no item named 'vectors.npy'"),
        (
            {"vectors": np.ones((2, 2))},
            "entry 'vectors': the array must have type <f4 and 2 dimensions, row-major; got <f8, (2, 2)",
        ),
        (
            {"vectors": np.ones(2, np.float32)},
            "entry 'vectors': the array must have type <f4 and 2 dimensions, row-major; got <f4, (2,)",
        ),
        ({"vectors": np.array([[object()]])}, "got |O"),
        ({"vectors": np.ones((2, 2), np.float32, order="F")}, "got <f4, (2, 2), column-major"),
        ({"vectors": npy_header("<f4", (10**12, 10**6)) + b"\0" * 16}, "cannot reshape"),
        ({"vectors": npy_header("<f4", (2, 2)) + b"\0" * 15}, "not a readable npz file"),
        ({"vectors": b"\x93NUMPY\x03\x00rest"}, "entry 'vectors': an array must be in version 1.0"),
        (
            {"names": np.array(["a", "b"])},
            "entry 'names': the array must have type <i8 and 1 dimensions, row-major; got <U1",
        ),
        ({"names": np.arange(3)}, "each of 2 vectors needs a name; got 3 names"),
        ({"names": np.array([4, 4])}, "rows 0 and 1 are both named 4"),
        ({"names": np.frombuffer(b"abc", np.uint8), "name_ends": np.array([1, 4])}, "entry 'name_ends'"),
        ({"names": np.frombuffer(b"abc", np.uint8), "name_ends": np.array([4, 3])}, "entry 'name_ends'"),
        ({"names": np.frombuffer(b"ab\xff", np.uint8), "name_ends": np.array([1, 3])}, "can't decode byte"),
        ({"names_json": np.frombuffer(b'{"a": 1}', np.uint8)}, "names must be a list; got dict"),
        ({"names_json": np.frombuffer(b'[1, {"a": 1}]', np.uint8)}, "a node name must be hashable"),
        ({"names_json": np.frombuffer(b"[1, null]", np.uint8)}, "a node name is not NaN or None"),
        ({"names_json": np.frombuffer(b"[1, 2", np.uint8)}, "not a readable npz file"),
        ({"names_json": np.frombuffer(b"[" * 100000, np.uint8)}, "not a readable npz file"),
    ],
)
def test_a_malformed_npz_is_an_error(tmp_path, entries, message):
    whole = {"format": np.array(b"efge embedding 1"), "names": np.arange(2), "vectors": np.ones((2, 2), np.float32)}
    assert Embedding.load(write_npz(tmp_path / "v.npz", **whole)) == Embedding(np.ones((2, 2)))
    kept = {name: array for name, array in (whole | entries).items() if array is not None}
    assert message in load_error(write_npz(tmp_path / "v.npz", **kept))
