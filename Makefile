# Benchstick: `make help` lists what there is.
.PHONY: help run test test-quick lint vm bench screenshots wheel image legal-info test-image
.DEFAULT_GOAL := help

# The command for the VM reaches it untouched: make must not expand it ("value", ":="), neither here
# nor while it passes its variables on ("unexport").
ifdef CMD
export BENCHSTICK_VM_COMMAND := $(value CMD)
endif
unexport CMD

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 18

run: ## set up, time the practice drive, show the results on http://127.0.0.1:8080 (SERVE=0: end after the tables; PORT=N)
	@scripts/setup run && SERVE='$(SERVE)' PORT='$(PORT)' scripts/run-bench

test: ## set up and run every test (SKIP=vm leaves out those that need the VM; DURATIONS=update saves the durations)
	@SKIP='$(SKIP)' scripts/run-tests check-settings && scripts/setup test && SKIP='$(SKIP)' scripts/run-tests

test-quick: ## set up and run lint, the unit and web tests and those of the guard, in some minutes
	@scripts/setup test && LEVEL=quick scripts/run-tests

lint: ## ruff, mypy, shellcheck and the check of banned phrases (BUILDROOT=/path/to/tree: check-package as well)
	@scripts/setup lint && BUILDROOT='$(BUILDROOT)' scripts/lint

vm: ## a shell in a VM with USB, SATA and NVMe drives on real drivers (CMD='...': that command instead)
	@scripts/setup run vm && scripts/vm

bench: ## the copier compared with raw fio, cp, rsync and rclone; every page with 10 000 runs (ONLY=copier or ONLY=pages: that part)
	@scripts/setup bench && ONLY='$(ONLY)' .venv/bin/python scripts/bench.py

screenshots: ## a picture of every page, light and dark, wide and phone, in output/screenshots (PAGES='runs drive': only these)
	@scripts/setup page && .venv/bin/python scripts/screenshots.py $(PAGES)

wheel: ## the Python package with the page and its docs, for pip, in output/wheel
	@scripts/setup page && rm -rf build output/wheel && .venv/bin/pip wheel --quiet --no-deps --wheel-dir output/wheel . && rm -rf build && ls output/wheel/*.whl

image: ## the stick's image, output/images/benchstick-x86_64.img (BUILDROOT=/path/to/tree or BUILDROOT_SHA256=...; SOURCES=debian)
	@BUILDROOT='$(BUILDROOT)' BUILDROOT_SHA256='$(BUILDROOT_SHA256)' SOURCES='$(SOURCES)' scripts/image

legal-info: ## licence texts and sources of all that the image is built from, output/legal-info (as for image)
	@BUILDROOT='$(BUILDROOT)' BUILDROOT_SHA256='$(BUILDROOT_SHA256)' SOURCES='$(SOURCES)' scripts/image legal-info

test-image: ## boot the built image in emulated PCs and use it from outside
	@scripts/image.d/test
