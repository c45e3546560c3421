"""Reading and writing of files: bytes in, bytes out, within limits.

In: paths of untrusted files, compressed or not. Out: streams of uncompressed bytes, Arrow tables, matrices, parsed
JSON and TOML; files that are replaced atomically. Sizes that a file claims are checked before memory is taken.

May import errors, parallel, random and the kernels; knows nothing of graphs or embeddings.
"""
