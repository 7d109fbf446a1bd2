# Anaphora in two commands: `make serve` runs it, `make test` proves it. Both set up what they need.
PYTHON := $(shell sh setup/find_python.sh)

.PHONY: serve serve-scaled test check proofs bench docs format clean setup-serve setup-scaled setup-test require-python

serve: setup-serve
	@ANAPHORA_PORT="$${ANAPHORA_PORT:-$(PORT)}" exec .venv/bin/python server.py $(ARGS)

# PostgreSQL, Valkey and two servers behind one port, on this machine.
serve-scaled: setup-scaled
	@ANAPHORA_PORT="$${ANAPHORA_PORT:-$(PORT)}" exec .venv/bin/python setup/scaled.py $(ARGS)

test: setup-test
	@bash .ci/run all

check: setup-test
	@bash .ci/run quick

proofs: setup-test
	@bash .ci/run proofs $(ARGS)

bench: setup-test
	@.venv/bin/python -m benchmarks $(ARGS)

docs: setup-serve
	@.venv/bin/python -m documentation.generate

format: setup-test
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

clean:
	rm -rf .venv .anaphora interface/node_modules interface/static/vendor interface/static/built
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage*

setup-serve: require-python
	@$(PYTHON) setup serve

setup-scaled: require-python
	@$(PYTHON) setup scaled

setup-test: require-python
	@$(PYTHON) setup test

require-python:
	@test -n "$(PYTHON)"
