"""Choosing an estimator and its parameters for a graph, without labels or with them.

In come a graph, labels if there are any, and a space of parameters (`space`). Candidates are trained in rounds, each of
which keeps the better ones (`halving`); finished trials are kept in files (`trials`). Held-out edges or
cross-validation score them (`tasks`, `results`). Out comes a study: a table of candidates, the best one, a figure and
advice (`study`, `advice`). May import evaluation, models, and whatever these import; only the command line imports
this package.
"""
