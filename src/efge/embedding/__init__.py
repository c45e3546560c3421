"""Embeddings: vectors under the names of their nodes, with nearest neighbors, graph filters and files.

In come vectors and names, from an estimator or a file. Out comes an `Embedding`, to look up, compare, save and load.
`formats` chooses a format by name or suffix; each format has a module of its own (CSV, TSV and word2vec text share
`text_formats`). `propagation` smooths vectors along the edges of a graph.

This package may import `graph`, `io`, `linalg`, `parallel`, `errors`, `kernels`, and whatever these import.
"""
