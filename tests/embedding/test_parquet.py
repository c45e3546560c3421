"""Parquet files: our layout, other layouts that are read, and malformed tables."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from efge import Embedding, EmbeddingError
from helpers_embedding import load_error, random_embedding, save_as


def test_parquet_has_a_column_of_names_and_one_of_vectors(tmp_path):
    for names, kind in ((["a", "b"], pa.string()), ([1, 2], pa.int64())):
        table = pq.read_table(save_as(random_embedding(2, 3, names), tmp_path, "parquet"))
        assert table.schema.names == ["node", "vector"]
        assert table.schema.types == [kind, table.schema.field("vector").type]
        assert pa.types.is_fixed_size_list(table.schema.field("vector").type)
        assert table["vector"].to_pylist() == random_embedding(2, 3).vectors.tolist()


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"node": ["ann", "bob"], "0": [1.0, 3.0], "1": [2.0, 4.0]}),
        pa.table(
            {"x": pa.array([1, 3], pa.int8()), "who": pa.array(["ann", "bob"]).dictionary_encode(), "y": [2.0, 4.0]}
        ),
        pa.table({"vector": [[1.0, 2.0], [3.0, 4.0]], "name": pa.array(["ann", "bob"], pa.large_string())}),
        pa.table({"0": [1.0, 3.0], "1": [2.0, 4.0], "__index_level_0__": ["ann", "bob"]}),
        pa.chunked_array([[[1.0, 2.0]], [[3.0, 4.0]]]),
    ],
)
def test_other_layouts_of_parquet_are_read(tmp_path, table):
    if isinstance(table, pa.ChunkedArray):
        table = pa.table({"name": pa.chunked_array([["ann"], ["bob"]]), "embedding": table})
    pq.write_table(table, tmp_path / "v.parquet")
    assert Embedding.load(tmp_path / "v.parquet") == Embedding([[1, 2], [3, 4]], ["ann", "bob"])


def test_frames_saved_by_pandas_are_read(tmp_path):
    for names in (["ann", "bob"], [5, 3]):
        embedding = random_embedding(2, 3, names)
        embedding.to_pandas().rename(columns=str).to_parquet(tmp_path / "v.parquet")
        assert Embedding.load(tmp_path / "v.parquet") == embedding


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            pa.table({"x": [1.0], "y": [2.0]}),
            "a table needs one column of names, which are integers or text, and either one",
        ),
        (pa.table({"a": ["x"], "b": ["y"], "c": [1.0]}), "got a: string, b: string, c: double"),
        (pa.table({"node": ["x"], "b": ["y"]}), "values must be numbers; got string with 0 missing"),
        (pa.table({"node": ["x"]}), "at least one dimension"),
        (pa.table({}), "got no columns"),
        (pa.table({"node": [0.5], "b": [1.0]}), "a table needs one column of names, which are integers or text"),
        (pa.table({"node": ["x"], "u": [[1.0]], "v": [[1.0]]}), "a table needs one column of names"),
        (pa.table({"node": ["x", "y"], "v": [[1.0], [1.0, 2.0]]}), "all vectors must have the same size; got 1, 2"),
        (
            pa.table({"node": ["x", "y"], "v": [[1.0], None]}),
            "row 1: every cell must have a value; column 'v' has none",
        ),
        (
            pa.table({"node": ["x", None], "v": [1.0, 2.0]}),
            "row 1: every cell must have a value; column 'node' has none",
        ),
        (pa.table({"node": ["x"], "v": [[None, 1.0]]}), "values must be numbers; got double with 1 missing"),
        (pa.table({"node": ["x"], "v": [["a"]]}), "values must be numbers; got string"),
        (pa.table({"node": ["x", "x"], "v": [1.0, 2.0]}), "rows 0 and 1 are both named 'x'"),
        (pa.table({"node": ["x"], "v": [[float("nan")]]}), "row 0, 'x': a vector must be finite in 32 bits; got nan"),
        (pa.table({"node": ["x"], "v": [1e300]}), "row 0, 'x': a vector must be finite in 32 bits; got inf"),
    ],
)
def test_a_malformed_parquet_is_an_error(tmp_path, table, message):
    pq.write_table(table, tmp_path / "v.parquet")
    assert message in load_error(tmp_path / "v.parquet")


def test_a_flipped_bit_in_the_data_is_never_read_as_another_vector(tmp_path):
    embedding = random_embedding(6, 4, list("abcdef"))
    content = save_as(embedding, tmp_path, "parquet").read_bytes()
    # The footer, whose size is in the last bytes, has no checksum.
    data = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    path, refused = tmp_path / "flipped.parquet", 0
    for position in range(4, data, 2):
        path.write_bytes(content[:position] + bytes([content[position] ^ 4]) + content[position + 1 :])
        try:
            assert Embedding.load(path) == embedding, position
        except EmbeddingError:
            refused += 1
    assert refused > 60
