# Two commands do everything on a fresh Debian 12 machine, package installation included: `make demo` and `make test`.

JOBS ?= $(shell nproc)
BUILD = cmake --build --preset $(1) --parallel $(JOBS)
# The demo leaves the CUDA backend out where there is no GPU to run it: it takes longer to compile than all the rest.
CUDA_HERE = $(shell nvidia-smi >/dev/null 2>&1 && echo AUTO || echo OFF)

.PHONY: help demo build test test-exhaustive bench docs format tidy clean
.DEFAULT_GOAL := help

help:
	@echo 'make demo             build; order a small character GPT from two workers, one of which cheats, and see it convicted'
	@echo 'make test             build and run every test, with other compilers, sanitizers and processors'
	@echo 'make test-exhaustive  elementary functions over all 2^32 inputs (hours)'
	@echo 'make bench            speed against oneDNN, OpenBLAS, OpenSSL and PyTorch; writes build/bench.json'
	@echo 'make build            build/release/assay and its tests'
	@echo 'make docs             tables in docs/ and docs/vectors/, written anew from the code'
	@echo 'make format tidy      clang-format everything; clang-tidy on changed files'
	@echo 'make clean            remove build/'

demo:
	@scripts/bootstrap.sh build
	@cmake --preset release --log-level=WARNING -DASSAY_CUDA_BUILD=$(CUDA_HERE) >/dev/null
	@$(call BUILD,release) --target assay cheat
	@scripts/demo.sh

build:
	@scripts/bootstrap.sh build tests
	@cmake --preset release --log-level=WARNING >/dev/null
	@$(call BUILD,release)

test:
	@scripts/bootstrap.sh build tests browser clang cross wasm
	@JOBS=$(JOBS) scripts/test.sh

test-exhaustive: build
	@scripts/test-exhaustive.sh

bench:
	@scripts/bootstrap.sh build bench
	@cmake --preset bench --log-level=WARNING >/dev/null
	@$(call BUILD,bench)
	@bench/run.py

docs:
	@scripts/bootstrap.sh build
	@cmake --preset release --log-level=WARNING >/dev/null
	@$(call BUILD,release) --target write_docs --target checks_matrix
	@build/release/tests/docs/write_docs write .
	@build/release/tests/checks/checks_matrix --write docs/CHECKS.md

format:
	@git ls-files '*.cc' '*.h' '*.inc' '*.cu' | xargs clang-format-19 -i

tidy:
	@scripts/tidy.sh

clean:
	rm -rf build
