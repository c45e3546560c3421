"""Embeddings, names and files that several test modules of the package `embedding` use."""

from __future__ import annotations

import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from efge import Embedding, EmbeddingError

# File name for each format.
FORMATS = {
    "npz": "vectors.npz",
    "parquet": "vectors.parquet",
    "arrow": "vectors.arrow",
    "safetensors": "vectors.safetensors",
    "csv": "vectors.csv",
    "tsv": "vectors.tsv",
    "word2vec": "vectors.txt",
    "word2vec-binary": "vectors.bin",
    "tensorboard": "projector",
}

UNTYPED_FORMATS = ("word2vec", "word2vec-binary", "tensorboard")

COMPRESSIBLE_FORMATS = ("csv", "tsv", "word2vec", "word2vec-binary")

every_format = pytest.mark.parametrize("kind", FORMATS)

ODD = [
    "",
    " ",
    "\u200b",
    "node",
    "1",
    "-0",
    "007",
    "a b",
    "tab\t",
    "\n",
    "\r\n",
    "\0",
    'quo"te',
    '"',
    "'",
    "\\",
    r"\u0020",
]

ODD += [r"\u200b", r"\n", ",", ";", "a,b", "\ufeff", "\x85", "\u2028", "\u3000x", "nan", "#", "é", "🦊", "x\0", "x\0\0"]

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(ODD)

INTEGERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 20)

VALUES = st.floats(width=32, allow_nan=False, allow_infinity=False) | st.sampled_from(
    [0.0, -0.0, 2.0**-149, -(2.0**-149), 2.0**-126, (2 - 2**-23) * 2.0**127, float(np.float32(0.1)), 16777216.0]
)


@st.composite
def embeddings(draw, names):
    chosen = draw(st.lists(names, min_size=1, max_size=6, unique=True))
    dim = draw(st.integers(1, 5))
    return Embedding(draw(arrays(np.float32, (len(chosen), dim), elements=VALUES)), chosen)


def random_embedding(n=5, dim=3, names=None):
    return Embedding(np.random.default_rng(7).normal(size=(n, dim)), names)


def save_as(embedding, folder, kind):
    path = folder / FORMATS[kind]
    embedding.save(path, "tensorboard" if kind == "tensorboard" else None)
    return path


def read_content(path):
    """The bytes of a file, or of a folder's files by their names."""
    return {file.name: file.read_bytes() for file in path.iterdir()} if path.is_dir() else path.read_bytes()


def load_error(path, **options):
    with pytest.raises(EmbeddingError) as caught:
        Embedding.load(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@contextmanager
def peak_memory():
    """Measure the peak memory of the block; afterwards, the yielded function returns it."""
    tracemalloc.start()
    peak = []
    try:
        yield lambda: peak[0]
        peak.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
