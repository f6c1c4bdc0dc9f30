# From a bare clone: `make run` trains (about ten minutes), `make test` proves the code.
# Both make .venv first and skip that when nothing changed.
#
#   PYTHON        the interpreter to use; by default the first on the path that is new enough
#   TORCH_INDEX   an extra package index for torch, such as that of its CPU builds
#   PIP_EXTRA     any other options for pip install
#   CONFIG        the settings of `make run`
#   ARGS          more options for `spadelab run` or pytest

CONFIG ?= config/config_minimal.json
PIP_EXTRA ?=
ARGS ?=
ifdef TORCH_INDEX
PIP_EXTRA += --extra-index-url $(TORCH_INDEX)
endif

BIN := .venv/bin
PIP_INSTALL = $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt $(PIP_EXTRA)
INPUTS := pyproject.toml constraints.txt Makefile
NEW_ENOUGH := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))

.PHONY: run test clean

run: .venv/installed
	$(BIN)/spadelab run --config $(CONFIG) $(ARGS)

test: .venv/installed-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal --cov=spadelab --cov-report=term:skip-covered $(ARGS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf .venv build dist

.venv/bin/python:
	@python=""; \
	for name in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
	    if "$$name" -c "$(NEW_ENOUGH)" 2>/dev/null; then python="$$name"; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	    echo "error: no Python 3.11 or newer with its venv module was found." >&2; \
	    echo "On Debian or Ubuntu: sudo apt-get install python3 python3-venv" >&2; \
	    echo "Another interpreter: make PYTHON=/path/to/python3" >&2; \
	    exit 1; \
	fi; \
	echo "making .venv with $$python"; \
	"$$python" -m venv .venv || { rm -rf .venv; exit 1; }

.venv/installed: .venv/bin/python $(INPUTS)
	@echo "installing dependencies"
	$(PIP_INSTALL) -e .
	@touch $@

.venv/installed-dev: .venv/bin/python $(INPUTS)
	@echo "installing dependencies"
	$(PIP_INSTALL) -e '.[dev]'
	@touch .venv/installed $@
