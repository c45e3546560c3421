"""Embeddings: vectors under the names of their nodes, with nearest neighbors and files in common formats.

In come vectors and names, from an estimator or a file. Out comes an `Embedding`, to look up, compare, save and load.
`formats` chooses a format by name or suffix; each format has a module of its own (CSV, TSV and word2vec text share
`text_formats`).

This package may import `graph` (for names), `io`, `parallel`, `errors`, and whatever these import.
"""
