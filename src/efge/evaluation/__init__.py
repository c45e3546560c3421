"""How good an embedding is: node classification, link prediction, and communities.

In come an embedding or an estimator, a graph, and labels or held-out edges. Out come scores of every repeat, with
tables and figures (`results`), or groups of nodes (`communities`). `splits` hides edges from a model, `heuristics`
scores pairs without any model, and `labels` reads classes. `classifier` and `missing_links` predict instead of scoring.

This package may import `models`, `embedding`, `families`, `graph`, `io`, and whatever these import.
"""
