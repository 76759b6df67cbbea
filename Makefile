# CONTRIBUTING.md says what each target does. PORT=, DATA= and WITH= reach scripts/run.
.PHONY: help run test build check sanitize bench crash acceptance

help:
	@echo 'make run    start the server with sample data, print lines to paste (PORT= DATA= WITH=)'
	@echo 'make test   build and run every test'
	@echo 'make build  build/release/strata'
	@echo 'make check  format and lint'
	@echo 'make bench  the benchmark table and build/bench.json (BENCH_ROUNDS=1: the quick form)'
	@echo 'make sanitize  every test under ASan + UBSan, then under TSan (long)'
	@echo 'make crash  kills, power cuts, failing disks: the long form; writes docs/PROMISE.md'
	@echo 'make acceptance  everything at once, with kills: 20,000 batches; restarts at size'

run:
	@scripts/run

test:
	@scripts/setup tests
	@scripts/build dev
	@ctest --preset dev -j "$$(nproc)"

build:
	@scripts/setup
	@scripts/build release

check:
	@scripts/setup
	@scripts/check

sanitize:
	@scripts/setup tests
	@scripts/sanitize

crash:
	@scripts/setup tests
	@scripts/build dev
	@scripts/crash

acceptance:
	@scripts/setup tests
	@scripts/build release
	@scripts/acceptance

bench:
	@scripts/bench
