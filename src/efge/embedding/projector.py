"""TensorBoard's embedding projector: a folder with a file of values, a file of names, and a configuration file."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path

from efge.embedding.common import NamedVectors, Vectors, decode_names
from efge.embedding.text_formats import read_tensors, write_tensors
from efge.errors import EmbeddingError
from efge.graph.names import Names, encode_utf8, format_names, parse_names
from efge.io.atomic import atomic_write
from efge.io.files import open_input

FILES = ("tensors.tsv", "metadata.tsv", "projector_config.pbtxt")
_CONFIG = """\
embeddings {{
  tensor_name: "embedding"
  tensor_shape: {}
  tensor_shape: {}
  tensor_path: "tensors.tsv"
  metadata_path: "metadata.tsv"
}}
"""


def write_projector(folder: Path, vectors: Vectors, names: Names) -> None:
    """Write the three files; other files in the folder stay as they are."""
    if not len(vectors):
        raise EmbeddingError("TensorBoard's projector needs at least one vector; there is none")
    texts = encode_utf8(format_names(names, keep=" "))
    is_new = not folder.exists()
    folder.mkdir(exist_ok=True)
    paths = [folder / name for name in FILES]
    try:
        with ExitStack() as stack:
            tensors, metadata, config = [stack.enter_context(atomic_write(path)) for path in paths]
            write_tensors(tensors, vectors)
            metadata.write(b"".join(text + b"\n" for text in texts))
            config.write(_CONFIG.format(*vectors.shape).encode())
    except BaseException:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise


def read_projector(folder: Path) -> NamedVectors:
    """Read the files of values and names."""
    tensors, metadata = folder / "tensors.tsv", folder / "metadata.tsv"
    with open_input(tensors) as stream:
        vectors = read_tensors(stream, str(tensors))
    with open_input(metadata) as stream:
        lines = stream.read().removeprefix(b"\xef\xbb\xbf").removesuffix(b"\n").split(b"\n")
    for number, line in enumerate(lines, 1):
        if b"\t" in line:
            raise EmbeddingError(f"{metadata}, line {number}: names must be in one column; got {len(line.split())}")
    if len(lines) != len(vectors):
        raise EmbeddingError(f"{metadata}: each of {len(vectors)} vectors needs a name; got {len(lines)} names")
    return vectors, parse_names(decode_names([line.removesuffix(b"\r") for line in lines], str(metadata), "line", 1))
