# `make demo` and `make test` do everything on a fresh machine; both work in .venv.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo tutorial test lint docs install clean

demo: $(VENV)/.installed
	@sh examples/demo.sh $(BIN)/eaglecfg $(BIN)/python

# What docs/tutorial.md shows, run in a temporary folder; about five minutes.
tutorial: $(VENV)/.installed
	@$(BIN)/python docs/run.py docs/tutorial.md

# Three workers on two cores: many tests wait for servers to start and to end. Hundreds of processes are started, and
# an image that forbids bytecode has each of them compile everything again: three times the start-up.
test: lint
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n 3 --dist worksteal -q

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Everything in docs/ and schemas/ that a command prints; the tutorial runs for real.
docs: $(VENV)/.installed
	$(BIN)/eaglecfg schema --write schemas
	$(BIN)/eaglecfg rules --write docs
	$(BIN)/python docs/run.py --write docs

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
