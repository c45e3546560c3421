"""Reproduction of the paper's tables and figures, compared with the published numbers.

In come a plan (which studies, networks and methods), the settings in ``experiments.toml`` and the published numbers in
CSV files. Out comes a folder with raw scores, tables, figures and a page. May import datasets, models, walks,
embedding, evaluation and plots; only the command line imports this package.
"""
