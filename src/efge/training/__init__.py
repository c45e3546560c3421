"""Training: walks of a graph come in, vectors of its nodes go out.

`trainer` trains tables that fit into memory (or into mapped files); `partitioned` trains larger tables partition by
partition, in files or on a cluster. `settings` checks the hyper-parameters, `corpus` counts the walks and cuts them
into chunks of work, `workers` runs kernels in threads, `monitor` evaluates held-out pairs, `checkpoints` saves and
restores training state, `huffman` builds the tree of hierarchical softmax, `noise` says how negatives are drawn, and
`tables` and `workspace` allocate memory.

May import families, walks, graph, io and the kernels; never models, evaluation or the command line.
"""
