"""Training of tables larger than memory: walks come in, vectors go out, and few partitions are in memory at a time.

`schedule` says which walks make a wave and in which order its buckets are trained; `partitioning` assigns nodes to
partitions; `buckets` turns the walks of a wave into buckets of pairs and trains one of them; `driver` runs waves,
held-out evaluations and checkpoints on an engine; `local` is the engine that keeps partitions in `files`, and `cluster`
is the one that keeps them on a Ray cluster.

May import the rest of training and what it may import.
"""
