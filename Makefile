# SPDX-License-Identifier: Apache-2.0
# The ways in. Everything else is CMake: see CMakePresets.json and HACKING.md.

JOBS ?= $(shell nproc)
export CTEST_PARALLEL_LEVEL ?= $(JOBS)
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(JOBS)

.DEFAULT_GOAL := help
.PHONY: help demo check check-all clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## Install what is needed, build, explain a real model and rotate its recorded q and k
	scripts/install_dependencies.sh build
	cmake --preset demo
	cmake --build --preset demo
	scripts/demo.sh build/demo

check: ## Install what is needed, build with g++, run every test, build and test the Python package
	scripts/install_dependencies.sh check
	cmake --preset check
	cmake --build --preset check
	ctest --preset check
	scripts/check_python.sh numpy

check-all: ## The slower stages: clang, sanitizers, fuzzers, shared library, Arm, format, PyTorch
	scripts/install_dependencies.sh check-all
	scripts/check_all.sh

clean: ## Remove everything that was built
	rm -rf build
