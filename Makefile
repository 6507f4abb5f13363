# Everything happens inside this folder: the environment in .venv/, builds and renders in .snellen/, the report in checkup/.
PYTHON ?= python3
JOBS ?= 2
TEST_WORKERS ?= 2

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
# Every file must have a hash of the list, and nothing that is not on it is installed.
INSTALL := $(BIN)/python scripts/install.py
export SNELLEN_HOME := $(CURDIR)/.snellen
# Modules are kept compiled: each test process would compile and rewrite them all again, 10 s of CPU.
unexport PYTHONDONTWRITEBYTECODE

# A part of the project: one of the two wings, or core, which is everything else.
WINGS := curated_sets towers
CODE := src packages/sight/src packages/phantoms/src tests
ifneq ($(filter $(PART),$(WINGS)),)
CODE := src/snellen/$(PART) tests/$(PART)
TESTS := tests/$(PART)
else ifeq ($(PART),core)
TESTS := $(WINGS:%=--ignore=tests/%)
OMITTED := --exclude '(snellen|tests)/(curated_sets|towers)/'
else ifneq ($(PART),)
$(error PART=$(PART): give curated_sets, towers or core)
endif

.DEFAULT_GOAL := help
.PHONY: help env checkup test check lint lowest slow bench docs dist licences audit format clean

help:  ## print this list
	@grep -E '^[a-z]+: .*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1@/' | column -t -s @ || true

env: $(VENV)/ready  ## create or update the environment in .venv

$(VENV)/ready: pyproject.toml packages/phantoms/pyproject.toml constraints.txt requirements.txt scripts/install.py scripts/fetch_llvm.py src/snellen/web/web.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'Python 3.11 or newer is needed: make PYTHON=/path/to/python'; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo 'Installing into $(VENV)'
	@$(INSTALL) requirements.txt --torch
	@$(PIP) --no-deps --no-build-isolation --editable . --editable packages/phantoms
	@$(BIN)/python -m pip check >$(VENV)/check.txt || { cat $(VENV)/check.txt; exit 2; }
	@$(BIN)/python scripts/fetch_llvm.py
	@$(BIN)/python scripts/fetch_web_parts.py
	@touch $@

checkup: env  ## examine the packaged subjects; more by ARGS='--subject chat:openai/gpt-4o'
	$(BIN)/snellen checkup $(ARGS)

test: env  ## run the tests, the slow ones left out
	$(BIN)/python -m pytest -m 'not slow' -n $(TEST_WORKERS) --dist loadfile $(TESTS) $(ARGS)

# Side by side: a test worker that waits for a browser or a child process leaves its core to the static checks.
check: env  ## run the tests and all static checks, as CI does; of a part by PART=towers, curated_sets or core
	@$(MAKE) --no-print-directory --jobs=2 test lint

lint: env  ## ruff, mypy and the import rules
	$(BIN)/ruff check $(if $(PART),$(CODE),.)
	$(BIN)/ruff format --check $(if $(PART),$(CODE),.)
	@# Workers that cannot be reached on a busy machine are no fault of the types: then one process checks them.
	$(BIN)/mypy --strict --num-workers $(JOBS) $(OMITTED) $(CODE) || $(BIN)/mypy --strict $(OMITTED) $(CODE)
	$(BIN)/lint-imports

lowest: env  ## run what scores, asks and reports with the oldest packages that pyproject.toml allows, in .venv-lowest
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python .venv-lowest
	$(BIN)/uv pip install -q --python .venv-lowest --resolution lowest-direct -e '.[video]'
	$(BIN)/uv pip freeze -q --python .venv-lowest --exclude-editable > .venv-lowest/packages.txt
	$(BIN)/uv pip install -q --python .venv-lowest -c .venv-lowest/packages.txt hypothesis pytest-xdist scikit-image shapely statsmodels
	.venv-lowest/bin/python -m pytest -m 'not slow' -n $(JOBS) --dist loadfile -W ignore tests/core tests/scoring tests/analysis tests/runs tests/reports $(ARGS)

slow: env  ## run the slow tests, and properties on many new examples; on real replies and a real ViT too by REPLIES=FILE REAL_REPLIES=FOLDER DINOV2=FOLDER
	REPLIES='$(REPLIES)' REAL_REPLIES='$(REAL_REPLIES)' DINOV2='$(DINOV2)' $(BIN)/python -m pytest -m slow $(ARGS)
	$(BIN)/python -m pytest -m 'hypothesis and not slow' --hypothesis-profile thorough -n $(JOBS) --dist loadfile

bench: env  ## run every bench/*.py
	@set -e; for script in $(sort $(wildcard bench/[!_]*.py)); do echo "== $$script"; $(BIN)/python $$script $(ARGS); done
	@echo 'The recorded numbers and how they were taken: docs/benchmarks.md, docs/measurements/'

docs: env  ## build the documentation as a site, build/site; a link that leads nowhere is an error
	@$(INSTALL) requirements-docs.txt
	$(BIN)/sphinx-build -q -W --keep-going -c docs/site . build/site
	@echo 'build/site/index.html'

dist: env  ## build wheels and sdists into dist/, and try each in an empty environment
	$(BIN)/python scripts/dist.py

licences: env  ## print the licence of everything that is installed, and fail where one is not allowed
	@$(BIN)/python scripts/licences.py

audit: env  ## look for known vulnerabilities of what is pinned, where the advisory service can be reached
	@$(BIN)/python scripts/audit.py

format: env  ## let ruff mend layout and import order
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove the environment, builds, renders and caches
	rm -rf $(VENV) .venv-lowest .snellen checkup build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find src packages tests bench examples scripts -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
