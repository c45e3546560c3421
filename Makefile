# make demo    embed a small network: who is near whom, scores, and a page to look at
# make test    the tests
# make lint    formatting, lint and types
# make docs    the documentation as a site, in site/index.html
# make bench   speed and memory beside the peers (slow; wants a quiet machine)
# make fuzz    hostile input for every reader: make fuzz RUNS=1000000; counts and failing inputs go to .fuzz/
# make scores  classification and link prediction by both trainers and the baselines, beside the paper (slow)
#
# Each target makes the virtual environment it needs; a second call starts at once.

PYTHON ?= python3
VENV := .venv
BENCH_VENV := .venv-bench
BASELINES_VENV := .venv-baselines
FUZZ_VENV := .venv-fuzz
RUNS ?= 100000

# An environment whose interpreter is gone is of no use to anybody.
broken = $(shell test -e $(1) && ! $(1)/bin/python -c "" 2>/dev/null && echo $(1))
ifneq ($(call broken,$(VENV))$(call broken,$(BENCH_VENV))$(call broken,$(BASELINES_VENV))$(call broken,$(FUZZ_VENV)),)
$(shell rm -rf $(call broken,$(VENV)) $(call broken,$(BENCH_VENV)) $(call broken,$(BASELINES_VENV)) $(call broken,$(FUZZ_VENV)))
endif

.PHONY: demo test lint docs bench scores fuzz clean

demo: $(VENV)/demo.stamp
	$(VENV)/bin/python examples/demo.py

test: $(VENV)/test.stamp
	$(VENV)/bin/python -m pytest -n auto --dist worksteal

lint: $(VENV)/test.stamp
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy

docs: $(VENV)/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/python -m mkdocs build --strict

bench: $(VENV)/test.stamp $(BENCH_VENV)/peers.stamp $(BASELINES_VENV)/peers.stamp
	$(VENV)/bin/python benchmarks/reading.py
	$(VENV)/bin/python benchmarks/walks.py --peers $(BENCH_VENV)/bin/python
	$(VENV)/bin/python benchmarks/training.py
	$(VENV)/bin/python benchmarks/baselines.py --peers $(BASELINES_VENV)/bin/python

scores: $(VENV)/test.stamp
	$(VENV)/bin/python benchmarks/scores.py --tasks nodes links --networks citeseer cora
	$(VENV)/bin/python benchmarks/scores.py --tasks links --networks hepth
	$(VENV)/bin/python benchmarks/scores.py --models deepwalk node2vec line hope netmf
	$(VENV)/bin/python benchmarks/scores.py --models deepwalk node2vec line hope netmf --tasks links --networks grqc facebook

fuzz: $(FUZZ_VENV)/fuzz.stamp
	$(FUZZ_VENV)/bin/python -m fuzz.run --runs $(RUNS)

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "efge needs Python 3.10 or newer; try make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[demo]'
	touch $@

$(VENV)/test.stamp: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@ $(VENV)/demo.stamp

$(VENV)/docs.stamp: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

# The peers want older libraries than we do, so that they live in an environment of their own.
$(BENCH_VENV)/peers.stamp: benchmarks/peers.txt
	$(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --requirement benchmarks/peers.txt
	touch $@

$(BASELINES_VENV)/peers.stamp: benchmarks/baseline_peers.txt
	$(PYTHON) -m venv $(BASELINES_VENV)
	$(BASELINES_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --requirement $<
	touch $@

# Where there is no atheris, inputs are mutated by chance; coverage guides them otherwise.
$(FUZZ_VENV)/fuzz.stamp: pyproject.toml
	$(PYTHON) -m venv $(FUZZ_VENV)
	$(FUZZ_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[networkx,pandas]'
	-$(FUZZ_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: atheris
	touch $@

clean:
	rm -rf $(VENV) $(BENCH_VENV) $(BASELINES_VENV) $(FUZZ_VENV) .fuzz build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
