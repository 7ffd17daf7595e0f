PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check -qq
OLDEST := .venv-oldest

# Two workers with one thread each; tests that need more threads set the number themselves. Byte
# code is always kept, whatever PYTHONDONTWRITEBYTECODE is, because the tests start many processes.
WORKERS ?= 2
TESTS   := PYTHONDONTWRITEBYTECODE= SEPARATRIX_THREADS=1 OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
PYTEST  := -m pytest -q -n $(WORKERS) --dist worksteal

# Python sources are read from src/ directly; only a change of these files needs a new build.
BUILT_FROM := pyproject.toml CMakeLists.txt $(shell find cpp -name '*.cpp' -o -name '*.hpp')
CPP        := $(filter cpp/%,$(BUILT_FROM))

# Shows only the downloads and the compiled files from the output of pip and the compiler; if the
# installation fails, shows the last 60 lines.
SHOW_BUILD := awk '{ last[NR % 60] = $$0 } \
  match($$0, /\[[0-9]+\/[0-9]+\] /) || /^ *Downloading [^ ]+\.whl/ { sub(/^ +/, ""); print "  " substr($$0, 1, 90); fflush() } \
  /^ *Successfully installed/ { done = 1 } \
  END { if (!done) { for (i = NR - 59; i <= NR; i++) if (i > 0) print last[i % 60]; exit 1 } }'

.DEFAULT_GOAL := help
.PHONY: help study lab notebooks test test-fast test-oldest lint format bench docs clean python compiler

help:  ## list all targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

study: $(VENV)/.installed  ## train and compare 32 classifiers on the Iris data
	@$(BIN)/separatrix study iris

lab: $(VENV)/.installed $(VENV)/.lab  ## watch studies and play with classifiers in the browser
	@$(BIN)/separatrix lab

notebooks: $(VENV)/.installed $(VENV)/.notebooks  ## open the teaching notebooks in JupyterLab
	@$(BIN)/jupyter lab notebooks

test: $(VENV)/.installed  ## run all tests (about 11 minutes on two cores)
	@echo "running all tests with $(WORKERS) workers: about 11 minutes on two cores"
	@$(TESTS) $(BIN)/python $(PYTEST)

test-fast: $(VENV)/.installed  ## run the tests without the slow ones
	@echo "running the fast tests with $(WORKERS) workers"
	@$(TESTS) $(BIN)/python $(PYTEST) -m "not slow"

test-oldest: $(OLDEST)/.installed  ## run all tests with the oldest supported versions
	@echo "running all tests with the versions in $(OLDEST)/oldest.txt"
	@$(TESTS) $(OLDEST)/bin/python $(PYTEST) -p no:cacheprovider -W ignore::DeprecationWarning -W ignore::FutureWarning

lint: $(VENV)/.installed $(VENV)/.lint  ## check style, types and the layers of imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@PATH="$(CURDIR)/$(BIN):$$PATH" lint-imports --no-logo
	@$(BIN)/clang-format --dry-run -Werror $(CPP)

format: $(VENV)/.lint  ## format all sources
	@$(BIN)/ruff check --fix-only -q .
	@$(BIN)/ruff format .
	@$(BIN)/clang-format -i $(CPP)

bench: $(VENV)/.installed $(VENV)/.bench  ## measure speed against other libraries
	@$(BIN)/python benchmarks/many_models.py
	@$(BIN)/python benchmarks/single_fit.py
	@$(BIN)/python benchmarks/latency.py
	@$(BIN)/python benchmarks/cross_validation.py
	@$(BIN)/python benchmarks/unscaled.py
	@$(BIN)/python benchmarks/memory.py
	@$(BIN)/python benchmarks/kernel.py
	@$(BIN)/python benchmarks/stochastic_sparse.py
	@$(BIN)/python benchmarks/svmlight.py
	@$(BIN)/python benchmarks/csv_files.py
	@$(BIN)/python benchmarks/lab.py

docs: $(VENV)/.installed $(VENV)/.docs  ## build the documentation in docs/_build/html
	@$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

clean:  ## remove all build products
	@rm -rf $(VENV) $(OLDEST) build dist docs/_build src/separatrix/_core.pyi
	@rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find src tests docs examples benchmarks -name __pycache__ -exec rm -rf {} + 2>/dev/null || true

python:
	@command -v "$(PYTHON)" >/dev/null || { echo "Separatrix needs Python 3.11 or newer, and '$(PYTHON)' was not found. Set PYTHON, as in 'make test PYTHON=python3.12'." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Separatrix needs Python 3.11 or newer, and '$(PYTHON)' is older. Set PYTHON, as in 'make test PYTHON=python3.12'." >&2; exit 1; }

compiler:
	@if [ -n "$$CXX" ]; then set -- $$CXX; command -v "$$1"; \
	else command -v c++ || command -v g++ || command -v clang++; fi >/dev/null \
	|| { echo "Separatrix needs a C++20 compiler, and none was found. Install g++ or clang++, or set CXX to the path of a compiler." >&2; exit 1; }

$(BIN)/python: | python
	@echo "creating $(VENV)"
	@"$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); echo "'$(PYTHON) -m venv' failed. On Debian and Ubuntu, install python3-venv." >&2; exit 1; }

# The build tools are installed in $(VENV), since pip's temporary environments would make every
# build start from scratch. The build backend reports whether cmake and ninja are needed from PyPI.
$(VENV)/.build: pyproject.toml | compiler $(BIN)/python
	@echo "installing the build tools into $(VENV)"
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' > $@.txt
	@$(PIP) install -r $@.txt
	@$(BIN)/python -c 'from scikit_build_core.build import get_requires_for_build_editable as more; print(*more(), sep="\n")' > $@.txt
	@$(PIP) install -r $@.txt
	@touch $@

$(VENV)/.installed: $(BUILT_FROM) $(VENV)/.build | compiler $(BIN)/python
	@echo "building and installing separatrix into $(VENV): about 2 minutes on two cores, longer the first time"
	@$(BIN)/python -m pip --disable-pip-version-check install -v --no-build-isolation -e '.[test]' 2>&1 | $(SHOW_BUILD)
	@cp "$$($(BIN)/python -c 'from separatrix import _core; print(_core.__file__.rpartition("/")[0])')/_core.pyi" src/separatrix/_core.pyi
	@touch $@

# Installs only the tools of the extra; 'pip install .[lint]' would build the project again.
$(VENV)/.lint $(VENV)/.docs $(VENV)/.bench $(VENV)/.notebooks $(VENV)/.lab: $(VENV)/.%: pyproject.toml | $(BIN)/python
	@echo "installing the $* tools into $(VENV)"
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["$*"], sep="\n")' > $@.txt
	@$(PIP) install -r $@.txt
	@touch $@

# The oldest versions and the package are installed in a separate environment. Their own dependencies
# can be newer and cause deprecation warnings, which the tests ignore.
$(OLDEST)/.installed: $(BUILT_FROM) $(shell find src -name '*.py') tests/support/oldest_versions.py | python compiler
	@echo "installing the oldest versions that pyproject.toml allows into $(OLDEST): about 4 minutes"
	@test -x $(OLDEST)/bin/python || "$(PYTHON)" -m venv $(OLDEST)
	@$(OLDEST)/bin/python tests/support/oldest_versions.py pyproject.toml > $(OLDEST)/oldest.txt
	@$(OLDEST)/bin/python -m pip --disable-pip-version-check install -v -C build-dir=build/oldest -c $(OLDEST)/oldest.txt '.[test]' 2>&1 | $(SHOW_BUILD)
	@touch $@
