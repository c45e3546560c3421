"""What the modules of the formats share: types, chunk size, and names read from text."""

from __future__ import annotations

import io
from collections.abc import Hashable, Iterable
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from efge.errors import EmbeddingError
from efge.graph.names import unescape_name

Vectors = npt.NDArray[np.float32]
NamedVectors = tuple[Vectors, Iterable[Hashable]]

# What to do if a list of edges is passed: names where values are expected, or short rows whose names repeat.
IF_GRAPH = "; if this is a graph, pass the file of vectors that efge embed writes for it"

# Bytes to read or write at a time: enough to keep threads busy, little compared with the vectors themselves.
CHUNK_BYTES = 1 << 22


def as_seekable(stream: BinaryIO) -> BinaryIO:
    """Return a stream with random access; one that has none, such as standard input, is read into memory."""
    return stream if stream.seekable() else io.BytesIO(stream.read())


def decode_names(names: list[bytes], label: str, unit: str, first: int = 0) -> list[str]:
    """Decode and unescape names from a text; `unit` and `first` say how errors count them."""
    texts = []
    for number, name in enumerate(names, first):
        try:
            texts.append(unescape_name(name.decode()))
        except UnicodeDecodeError:
            raise EmbeddingError(f"{label}, {unit} {number}: text must be UTF-8; got {name!r}") from None
    return texts
