"""Folders of TensorBoard's projector: their files, and errors in them."""

from __future__ import annotations

from efge import Embedding
from helpers_embedding import load_error, random_embedding, save_as


def test_a_projector_folder_points_at_its_files_and_keeps_others(tmp_path):
    folder = tmp_path / "projector"
    folder.mkdir()
    (folder / "notes.txt").write_text("precious")
    Embedding([[1, 0.5], [2, 3]], ["ann b", "tab\there"]).save(folder, "tensorboard")
    assert (folder / "tensors.tsv").read_text() == "1\t0.5\n2\t3\n"
    assert (folder / "metadata.tsv").read_text() == "ann b\ntab\\u0009here\n"
    config = (folder / "projector_config.pbtxt").read_text()
    assert 'tensor_path: "tensors.tsv"' in config
    assert 'metadata_path: "metadata.tsv"' in config
    assert (folder / "notes.txt").read_text() == "precious"
    assert Embedding.load(folder) == Embedding([[1, 0.5], [2, 3]], ["ann b", "tab\there"])


def test_a_malformed_projector_is_an_error_that_names_the_file(tmp_path):
    save_as(random_embedding(3, 2, ["a", "b", "c"]), tmp_path, "tensorboard")
    tensors, metadata = tmp_path / "projector" / "tensors.tsv", tmp_path / "projector" / "metadata.tsv"
    values = tensors.read_text()
    for text, message in (
        ("a\nb\n", "each of 3 vectors needs a name; got 2 names"),
        ("a\nb\tx\nc\n", "line 2: names must be in one column; got 2"),
        ("a\nb\nb\n", "rows 1 and 2 are both named 'b'"),
        (b"a\nb\n\xff\n", "line 3: text must be UTF-8"),
    ):
        metadata.write_bytes(text if isinstance(text, bytes) else text.encode())
        assert message in load_error(tmp_path / "projector")
    metadata.write_bytes(b"a\r\nb\r\nc")
    assert Embedding.load(tmp_path / "projector").names.tolist() == ["a", "b", "c"]
    tensors.write_text(values.replace("\n", "x\n", 1))
    assert f"{tensors}, line 1: a value must be a number; got '" in load_error(tmp_path / "projector")
    tensors.write_text("")
    assert f"{tensors}: there must be at least one vector; the file is empty" in load_error(tmp_path / "projector")
    metadata.unlink()
    tensors.write_text(values)
    assert load_error(tmp_path / "projector") == f"{metadata}: no such file"
