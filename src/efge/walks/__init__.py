"""Random walks: a graph comes in, batches of walks over its nodes go out.

`strategies` says how a walker chooses the next node (or that walks come from a corpus); `walks` makes the walks of an
epoch, batch by batch, the same at any number of threads.

May import graph, io and the kernels; never families, training or models.
"""
