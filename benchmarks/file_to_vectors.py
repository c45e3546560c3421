"""Embed an edge list by a peer that has no command of its own; run by that peer's interpreter.

    python file_to_vectors.py grape edges.tsv vectors.npy

Nodes are numbers; row i of the vectors is that of node i.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

DIM = 128


def read_rows(path: str) -> tuple[Any, Any]:
    """Return the adjacency lists of an undirected graph, as offsets and neighbors."""
    import pandas as pd

    edges = pd.read_csv(path, sep="\t", header=None).to_numpy()
    both = np.concatenate([edges, edges[:, ::-1]])
    both = both[np.lexsort(both.T[::-1])]
    return np.searchsorted(both[:, 0], np.arange(both.max() + 2)), both[:, 1].astype(np.int32)


def embed_by_grape(path: str) -> Any:
    """Train grape's SkipGram with pecanpy's walks: 10 of 80 nodes from each node."""
    from ensmallen import models

    from walk_peers import ALL_NEIGHBORS, Grape, Graph

    graph = Grape(Graph(*read_rows(path)), 2).graph
    model = models.SkipGram(
        embedding_size=DIM, epochs=1, window_size=10, walk_length=80, iterations=10, number_of_negative_samples=5,
        max_neighbours=ALL_NEIGHBORS, learning_rate=0.025, random_state=1, verbose=False,
    )  # fmt: skip
    return model.fit_transform(graph)[0]


def embed_by_nodevectors(path: str) -> Any:
    """Factor and filter by the ProNE of nodevectors, with its authors' settings."""
    import csrgraph
    import nodevectors
    from scipy.sparse import csr_matrix

    indptr, indices = read_rows(path)
    matrix = csr_matrix((np.ones(len(indices), np.float32), indices, indptr))
    return nodevectors.ProNE(n_components=DIM, verbose=False).fit_transform(csrgraph.csrgraph(matrix))


TOOLS = {"grape": embed_by_grape, "nodevectors": embed_by_nodevectors}


if __name__ == "__main__":
    tool, source, target = sys.argv[1:]
    np.save(target, np.asarray(TOOLS[tool](source), np.float32))
