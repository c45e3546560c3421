"""Files for other tools: as these tools read them, and as they write them."""

from __future__ import annotations

import csv
import json
import struct

import h5py
import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest
import safetensors.numpy

from efge import Embedding, EmbeddingError
from helpers_embedding import load_error, random_embedding, read_content

NAMES = (["ann", "bob é", '"both",;', ""], [5, -3, 2**62, 0])


def test_the_library_of_safetensors_reads_and_writes_our_files(tmp_path):
    embedding = random_embedding(4, 3, NAMES[0])
    embedding.save(tmp_path / "v.safetensors")
    tensors = safetensors.numpy.load_file(tmp_path / "v.safetensors")
    assert tensors["vectors"].tolist() == embedding.vectors.tolist()
    safetensors.numpy.save_file({"weight": embedding.vectors.astype(np.float64)}, tmp_path / "w.safetensors")
    assert Embedding.load(tmp_path / "w.safetensors") == Embedding(embedding.vectors)


def test_safetensors_that_claim_wrong_bytes_are_refused(tmp_path):
    path = tmp_path / "v.safetensors"

    def error(header, data=b"", size=None):
        text = json.dumps(header).encode()
        path.write_bytes(struct.pack("<Q", len(text) if size is None else size) + text + data)
        return load_error(path)

    entry = {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]}
    assert "begins with the size of its header" in error({}, size=2**40)
    assert "need other bytes than 0 to 8" in error({"vectors": entry}, b"1234")
    assert "need other bytes than 0 to 8" in error({"vectors": entry | {"shape": [2**40, 2]}}, b"12345678")
    assert "a shape and two offsets are lists" in error({"vectors": entry | {"data_offsets": [0.5, 8]}}, b"12345678")
    assert "the type is one of F16, F32" in error({"vectors": entry | {"dtype": "F8"}}, b"12345678")
    assert "one tensor has two dimensions" in error({"a": entry, "b": entry}, b"12345678")
    assert "the header is a JSON object" in error([])


@pytest.mark.parametrize("names", NAMES, ids=["text", "integers"])
def test_anndata_files_have_the_layout_of_the_library_and_keep_names(tmp_path, names):
    embedding = random_embedding(4, 3, names)
    embedding.save(tmp_path / "v.h5ad")
    embedding.save(tmp_path / "again.h5ad")
    assert read_content(tmp_path / "v.h5ad") == read_content(tmp_path / "again.h5ad")
    assert Embedding.load(tmp_path / "v.h5ad") == embedding
    with h5py.File(tmp_path / "v.h5ad") as file:
        assert file.attrs["encoding-type"] == "anndata"
        assert file["X"][()].tolist() == embedding.vectors.tolist()
        assert file["obs"]["_index"].asstr()[()].tolist() == list(map(str, names))
        assert file["var"].attrs["column-order"].tolist() == []


def test_other_slots_and_tables_of_anndata_are_read_or_refused(tmp_path):
    path = tmp_path / "v.h5ad"
    random_embedding(2, 3, ["ann", "bob"]).save(path)
    with h5py.File(path, "a") as file:
        file["obsm"].create_dataset("X_efge", data=np.array([[1.0, 2], [3, 4]]))
    assert Embedding.load(path) == Embedding([[1, 2], [3, 4]], ["ann", "bob"])
    with h5py.File(path, "a") as file:
        del file["obs"], file["obsm"]
    assert "names of nodes are the index of obs" in load_error(path)
    with h5py.File(path, "a") as file:
        del file["X"]
    assert "a dense table of numbers in obsm/X_efge or X" in load_error(path)
    path.write_bytes(b"no HDF5")
    assert "not a readable h5ad file" in load_error(path)
    for wrong in ([1, "a"], ["a\0b", "c"]):
        with pytest.raises(EmbeddingError, match=r"in AnnData, .* npz may keep"):
            random_embedding(2, 3, wrong).save(tmp_path / "wrong.h5ad")
    assert not (tmp_path / "wrong.h5ad").exists()


def test_other_tables_of_anndata_than_the_one_that_is_read_are_pointed_out(tmp_path):
    path = tmp_path / "cells.h5ad"
    random_embedding(2, 3, ["ann", "bob"]).save(path)
    with h5py.File(path, "a") as file:
        file["obsm"].create_dataset("X_pca", data=np.eye(2))
    with pytest.warns(UserWarning, match="the vectors are those of X; obsm has X_pca: to read one, name it X_efge"):
        assert Embedding.load(path).dim == 3
    with h5py.File(path, "a") as file:
        del file["X"]
    assert "in obsm/X_efge or X; there is none; obsm has X_pca: to read one, name it X_efge" in load_error(path)


def test_an_index_of_texts_that_may_be_missing_is_read(tmp_path):
    """Newer versions of AnnData write the index as a group of values and a mask."""
    embedding = random_embedding(2, 3, ["ann", "bob"])
    embedding.save(tmp_path / "v.h5ad")
    with h5py.File(tmp_path / "v.h5ad", "a") as file:
        values = file["obs/_index"][()]
        del file["obs/_index"]
        group = file.create_group("obs/_index")
        group.create_dataset("values", data=values, dtype=h5py.string_dtype("utf-8"))
        group.create_dataset("mask", data=np.zeros(2, bool))
    assert Embedding.load(tmp_path / "v.h5ad") == embedding


def test_a_file_for_neo4j_has_typed_columns_and_arrays(tmp_path):
    random_embedding(4, 3, NAMES[0]).save(tmp_path / "nodes.csv", "neo4j")
    header, *rows = csv.reader((tmp_path / "nodes.csv").read_text("utf-8").splitlines())
    assert header == ["name:ID", "vector:float[]", ":LABEL"]
    assert [row[0] for row in rows] == NAMES[0]
    values = np.array([row[1].split(";") for row in rows], np.float32)
    assert values.tobytes() == random_embedding(4, 3).vectors.tobytes()
    random_embedding(4, 3, NAMES[1]).save(tmp_path / "nodes.csv", "neo4j")
    assert (tmp_path / "nodes.csv").read_text().startswith("name:ID{id-type:long},vector:float[],:LABEL\n5,")
    assert "are written, but not read" in load_error(tmp_path / "nodes.csv", format="neo4j")


def test_arrow_files_have_a_list_column(tmp_path):
    random_embedding(4, 3, NAMES[0]).save(tmp_path / "v.arrow")
    table = pa.ipc.open_file(tmp_path / "v.arrow").read_all()
    assert table.schema.names == ["node", "vector"]
    assert pa.types.is_fixed_size_list(table.schema.field("vector").type)
    pa.feather.write_feather(table, tmp_path / "v.feather")
    assert Embedding.load(tmp_path / "v.feather") == random_embedding(4, 3, NAMES[0])


def test_nodes_of_networkx_carry_their_vectors_there_and_back():
    path = nx.path_graph(["ann", "bob", "cid"])
    embedding = Embedding([[1, 2], [0.1, 4]], ["cid", "ann"])
    carrying = embedding.to_networkx(path, "z")
    assert carrying.nodes["cid"] == {"z": [1.0, 2.0]}
    assert "z" not in carrying.nodes["bob"]
    assert not any(path.nodes[node] for node in path)
    assert Embedding.from_networkx(carrying, "z") == embedding[["ann", "cid"]]
    with pytest.raises(EmbeddingError, match="no node has the attribute 'vector'"):
        Embedding.from_networkx(carrying)
    with pytest.raises(EmbeddingError, match="no node of the graph has a vector; the graph has nodes such as 0"):
        embedding.to_networkx(nx.path_graph(3))
    carrying.nodes["bob"]["z"] = [1.0]
    with pytest.raises(EmbeddingError, match="all vectors must have the same size; got 1, 2"):
        Embedding.from_networkx(carrying, "z")


def test_a_name_that_cannot_be_encoded_is_an_error_of_ours_in_a_file_for_neo4j(tmp_path):
    with pytest.raises(EmbeddingError, match=r"nodes\.csv: "):
        Embedding([[1.0], [2.0]], ["a", "\ud800"]).save(tmp_path / "nodes.csv", "neo4j")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("names", [range(1001), [f"node {i}" for i in range(1001)]], ids=["integers", "texts"])
def test_a_value_of_an_anndata_file_counts_eight_bytes(tmp_path, monkeypatch, names):
    monkeypatch.setattr("efge.io.files.MAX_UNCHECKED_SIZE", 8000)
    monkeypatch.setattr("efge.io.files.MAX_EXPANSION", 0)
    path = tmp_path / "v.h5ad"
    for nodes, dim in ((1000, 1), (500, 2)):
        Embedding(np.ones((nodes, dim)), names[:nodes]).save(path)
        assert len(Embedding.load(path)) == nodes
    for nodes, dim in ((1001, 1), (501, 2)):
        Embedding(np.ones((nodes, dim)), names[:nodes]).save(path)
        assert "this one is larger" in load_error(path)
