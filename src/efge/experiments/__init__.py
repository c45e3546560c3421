"""Experiments: the paper's tables and figures again, and a benchmark of your own graphs.

For the reproduction (`plan`, `runner`, `scoring`, `tables`, `figures`, `report`), in come a plan (which studies,
networks and methods), the settings in ``experiments.toml`` and the published numbers in CSV files. Out comes a folder
with raw scores, tables, figures and a page. For the benchmark (`benchmark`, `contenders`, `judging`, `standings`), in
come graphs, labels and methods; out come scores, ranks and regrets. Both keep every finished cell and run cells in
processes (`pool`). May import datasets, models, walks, embedding, evaluation and plots; only the command line imports
this package.
"""
