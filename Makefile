# make demo    embed a small network: who is near whom, scores, and a page to look at
# make test    the tests
# make lint    formatting, lint, spelling, types and the order of imports
# make docs    the documentation as a site, in docs/_build/html/index.html; notebooks and examples run
# make figures fill every figure of README and documentation from the records in benchmarks/results
# make test-slow  the tests that take half a minute or more each
# make coverage  the tests, and how much of the code they cover (half as slow again: tracing slows compilation too)
# make bench   speed and memory compared with other tools, into the record; continues where it stopped (90 minutes; wants a quiet machine)
# make fuzz    hostile input for every reader: make fuzz RUNS=1000000; counts and failing inputs go to .fuzz/
# make mutants  small changes of the code that tests have to notice: make mutants COUNT=200; continues where it stopped (hours)
# make soak    kills, interrupts, small disks, hostile input and changes of the code for an hour, into one table: make soak MINUTES=60
# make scaling  how training would speed up on many cores, into the record (minutes; wants a quiet machine)
# make scores  classification and link prediction by both trainers and the baselines, compared with the paper (slow)
# make choosing  how far the choices of efge tune are from the best, into the record; continues where it stopped (an hour)
# make quality the vectors of every method on all networks, scored, into the record; continues where it stopped (hours)
# make newnodes vectors of nodes that come later, beside a whole fit, into the record (half an hour)
# make reproduction  all tables and figures of the paper, into the record and the documentation (slow)
#
# make dist-check  build wheel and sdist, look at what is in them, and use them where there are no sources
# make lowest      the tests with the lowest version of every dependency, and of Python
# make audit       known vulnerabilities of what the tests run with (asks a service on the network)
#
# Each target makes the virtual environment it needs; a second call starts at once.

PYTHON ?= python3
VENV := .venv
BENCH_VENV := .venv-bench
BASELINES_VENV := .venv-baselines
FUZZ_VENV := .venv-fuzz
LOWEST_PYTHON ?= python3.10
LOWEST_VENV := .venv-lowest
AUDIT_VENV := .venv-audit
RUNS ?= 100000
COUNT ?= 200
MINUTES ?= 60

# An environment whose interpreter is gone is of no use to anybody.
broken = $(shell test -e $(1) && ! $(1)/bin/python -c "" 2>/dev/null && echo $(1))
VENVS := $(VENV) $(BENCH_VENV) $(BASELINES_VENV) $(FUZZ_VENV) $(LOWEST_VENV) $(AUDIT_VENV)
BROKEN := $(strip $(foreach environment,$(VENVS),$(call broken,$(environment))))
ifneq ($(BROKEN),)
$(shell rm -rf $(BROKEN))
endif

.PHONY: demo test test-slow coverage lint docs figures bench scaling scores quality newnodes choosing reproduction fuzz mutants soak dist-check lowest audit clean

demo: $(VENV)/demo.stamp
	$(VENV)/bin/python examples/demo.py

test: $(VENV)/test.stamp
	$(VENV)/bin/python -m pytest -n auto --dist worksteal

test-slow: $(VENV)/test.stamp
	$(VENV)/bin/python -m pytest -n auto --dist worksteal -m slow

coverage: $(VENV)/test.stamp
	$(VENV)/bin/python -m pytest -n auto --dist worksteal -m '' --cov --cov-report=term

lint: $(VENV)/test.stamp
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/codespell
	$(VENV)/bin/bandit --quiet --recursive --configfile pyproject.toml src tools
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

docs: $(VENV)/docs.stamp
	$(VENV)/bin/python -m sphinx -n -W --keep-going -q -d docs/_build/doctrees docs docs/_build/html

figures: $(VENV)/test.stamp
	$(VENV)/bin/python benchmarks/figures.py

bench: $(VENV)/test.stamp $(BENCH_VENV)/peers.stamp $(BASELINES_VENV)/peers.stamp
	$(VENV)/bin/python benchmarks/bench.py
	$(VENV)/bin/python benchmarks/roofline.py
	$(VENV)/bin/python benchmarks/time_to_quality.py
	$(VENV)/bin/python benchmarks/figures.py

scaling: $(VENV)/test.stamp
	$(VENV)/bin/python benchmarks/scaling.py
	$(VENV)/bin/python benchmarks/large.py
	$(VENV)/bin/python benchmarks/figures.py

scores: $(VENV)/test.stamp
	$(VENV)/bin/python benchmarks/scores.py --tasks nodes links --networks citeseer cora --record trainers
	$(VENV)/bin/python benchmarks/scores.py --tasks links --networks hepth --record trainers
	$(VENV)/bin/python benchmarks/scores.py --models deepwalk node2vec line hope netmf
	$(VENV)/bin/python benchmarks/scores.py --models deepwalk node2vec line hope netmf --tasks links --networks grqc facebook
	$(VENV)/bin/python benchmarks/figures.py

choosing: $(VENV)/test.stamp
	$(VENV)/bin/python benchmarks/choosing.py
	$(VENV)/bin/python benchmarks/figures.py

# What is in .quality already is not measured again.
quality: $(VENV)/test.stamp
	$(VENV)/bin/python benchmarks/quality.py
	$(VENV)/bin/python benchmarks/quality.py --trainers
	$(VENV)/bin/python benchmarks/figures.py

newnodes: $(VENV)/test.stamp
	$(VENV)/bin/python benchmarks/newnodes.py
	$(VENV)/bin/python benchmarks/newnodes.py --stream --networks cora grqc
	$(VENV)/bin/python benchmarks/newnodes.py --million
	$(VENV)/bin/python benchmarks/newnodes.py --tried --networks cora --seeds 24
	$(VENV)/bin/python benchmarks/newnodes.py --tried --networks pubmed --seeds 4
	$(VENV)/bin/python benchmarks/figures.py

# What is in the folder already is not measured again.
reproduction: $(VENV)/test.stamp
	$(VENV)/bin/python -m efge reproduce -o reproduction
	$(VENV)/bin/python benchmarks/reproduction.py reproduction
	$(VENV)/bin/python benchmarks/figures.py

fuzz: $(FUZZ_VENV)/fuzz.stamp
	$(FUZZ_VENV)/bin/python -m fuzz.run --runs $(RUNS)

mutants: $(VENV)/test.stamp
	$(VENV)/bin/python tools/mutants.py --known
	$(VENV)/bin/python tools/mutants.py --count $(COUNT)
	$(VENV)/bin/python benchmarks/figures.py

soak: $(VENV)/test.stamp
	$(VENV)/bin/python tools/soak.py --minutes $(MINUTES)
	$(VENV)/bin/python benchmarks/figures.py

dist-check:
	$(PYTHON) tools/dist_check.py

# What old libraries say of newer ones that they rest upon is not about us.
lowest: $(LOWEST_VENV)/lowest.stamp
	$(LOWEST_VENV)/bin/python -m pytest -n auto --dist worksteal -m '' -W ignore::DeprecationWarning

# Strictly: a package of which the service knows nothing has not been audited.
audit: $(VENV)/test.stamp $(AUDIT_VENV)/audit.stamp
	$(VENV)/bin/python -m pip freeze --exclude-editable > $(AUDIT_VENV)/audited.txt
	$(AUDIT_VENV)/bin/pip-audit --strict --disable-pip --no-deps --requirement $(AUDIT_VENV)/audited.txt

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

# uv chooses the lowest version of each direct dependency; only efge itself is built from source.
$(LOWEST_VENV)/lowest.stamp: pyproject.toml
	$(LOWEST_PYTHON) -m venv --clear $(LOWEST_VENV)
	$(LOWEST_VENV)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(LOWEST_VENV)/bin/uv pip install --quiet --python $(LOWEST_VENV)/bin/python --resolution lowest-direct \
		--only-binary :all: --no-binary efge --editable '.[test,docs]'
	touch $@

$(AUDIT_VENV)/audit.stamp:
	$(PYTHON) -m venv --clear $(AUDIT_VENV)
	$(AUDIT_VENV)/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	touch $@

clean:
	rm -rf $(VENVS) .coverage .fuzz .quality .bench .choosing .mutants build dist docs/_build docs/api docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
