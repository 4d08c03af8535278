# TriMQ's commands. `make serve` runs it, `make test` runs every test.
# PYTHON is the interpreter that the environment in $(VENV) is made with (3.11 or newer).
PYTHON ?= python3
VENV ?= .venv
BIN := $(abspath $(VENV))/bin
INSTALLED := $(VENV)/.installed
TESTING := $(VENV)/.testing
LOCK := requirements/runtime.txt
TEST_LOCK := requirements/test.txt
SPARKING := $(VENV)/.sparking
SPARK_LOCK := requirements/spark.txt
# Where `make serve` listens; port 0 picks a free one.
NAMESRV_LISTEN ?= 127.0.0.1:9876
LISTEN ?= 127.0.0.1:10911
# A copy of the tree with its hot modules compiled.
TREE := build/compiled

# What `make serve` runs: TriMQ as `pip install .` installs it. The source tree stays free of compiled modules.
CAN_COMPILE := $(shell test "$$TRIMQ_COMPILE" != 0 && command -v $${CC:-cc} >/dev/null \
  && $(PYTHON) -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null && echo yes)
SERVED := build/$(if $(CAN_COMPILE),served-compiled,served-plain)
SOURCES := $(shell find -L trimq -name '*.py' -o -name '*.c') $(wildcard pyspark_*.py)

.PHONY: help serve test unit unit-bare compat compat-live compat-record compiled compat-mutants bench bench-smoke bench-store bench-spark spark-versions soak soak-spark lint fmt docs clean

.DEFAULT_GOAL := help

serve: $(SERVED)/.installed
	@exec env PYTHONPATH=$(abspath $(SERVED)) $(SERVED)/bin/trimq server \
	  --namesrv-listen $(NAMESRV_LISTEN) --listen $(LISTEN) --store ./data

# What needs no other broker runs side by side; output stays in one piece where make can do that (4.0 and newer).
SIDE_BY_SIDE := -j 2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

# Spark first, so that no unit test of it is skipped.
test: lint $(SPARKING) $(TREE)/.built
	$(MAKE) BUILT=yes $(SIDE_BY_SIDE) unit unit-bare compiled
	$(MAKE) BUILT=yes compat bench-smoke

lint: $(TESTING)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: $(TESTING)
	$(BIN)/python -m pytest tests

# Without what not every system has (tests/bare takes it away). Left out: tests that replace just that, or see Trio loaded.
BARE_TESTS := tests/remoting $(addprefix tests/trimq/test_,server.py cli.py kill_server.py) \
  $(addprefix tests/store/test_,system.py reading.py recovery.py append.py kill.py check.py)
NOT_BARE := no_trio or hot_cold_and_blocking or without_nowait or kill_changes_no_queue_file or one_write_for_all
unit-bare: $(TESTING)
	PYTHONPATH=tests/bare $(BIN)/python -m pytest $(BARE_TESTS) -k 'not ($(NOT_BARE))'

# Spark's tests mostly wait, for Spark and for brokers that are away: they run beside the others, and are shown behind them.
COMPAT := $(BIN)/python -m pytest -p no:randomly --durations=10
SPARK_TESTS := $(sort $(wildcard compat_tests/test_spark*.py) compat_tests/test_offset_report.py)
compat: $(TREE)/.built $(SPARKING)
	$(BIN)/python -m compat_tests.artifacts
	@$(COMPAT) $(SPARK_TESTS) > build/compat-spark.txt 2>&1 & beside=$$!; trap 'kill $$beside 2>/dev/null' EXIT INT TERM; \
	$(COMPAT) compat_tests $(SPARK_TESTS:%=--ignore=%); others=$$?; \
	wait $$beside; spark=$$?; cat build/compat-spark.txt; exit $$((others ? others : spark))

# Everything on the real server too, whatever compat_tests/records holds: before a release.
compat-live: $(TREE)/.built $(SPARKING)
	$(COMPAT) compat_tests --live

# What scenarios show on the real server, anew: after a change of scenarios, drivers or normalise.py.
compat-record: $(TREE)/.built
	$(BIN)/python -m pytest -p no:randomly --durations=10 --record compat_tests/test_java.py \
	  compat_tests/test_go.py compat_tests/test_restart.py compat_tests/test_tls.py compat_tests/test_cluster_mix.py

# The unit tests once more, on the compiled modules. TRIMQ_COMPILE=1 makes a missing compiler an error.
compiled: $(TREE)/.built
	@if ls $(TREE)/codec/frame*.so >/dev/null 2>&1; then cd $(TREE) && $(BIN)/python -m pytest tests; \
	else echo 'skipped: the tests of the compiled build, there is no C compiler (apt-get install gcc python3-dev)'; fi

.PHONY: FORCE
# Made anew whatever make thinks of its age, except by whoever has just made it.
$(TREE)/.built: $(TESTING) $(if $(BUILT),,FORCE)
	rm -rf $(TREE)
	mkdir -p $(TREE)
	tar cf - --exclude=./build --exclude=./data --exclude=./.venv --exclude=./.git . | tar xf - -C $(TREE)
	cd $(TREE) && TRIMQ_COMPILE=$${TRIMQ_COMPILE:-auto} $(BIN)/python setup.py --quiet build_ext --inplace
	@touch $@

compat-mutants: $(TESTING)
	$(BIN)/python -m compat_tests.run_mutants

bench: $(TREE)/.built
	$(BIN)/python -m bench

# Whether every part of the benchmarks runs. The figures mean nothing and are not kept.
bench-smoke: $(TREE)/.built
	cd bench/loadgen && go vet . && go test .
	@if ls $(TREE)/codec/frame*.so >/dev/null 2>&1; then $(BIN)/python -m bench --smoke; \
	else echo 'skipped: the benchmarks, there is no C compiler (apt-get install gcc python3-dev)'; fi

bench-spark: $(SPARKING)
	$(BIN)/python -m bench.spark --write-docs
	$(BIN)/python -m bench.spark.queues --kinds real pure

# The Spark tests on the first and last release of each minor version that is supported.
spark-versions: $(SPARKING)
	$(BIN)/python -m compat_tests.run_spark_versions

bench-store: $(TESTING)
	$(BIN)/python -m bench.store --write-docs

soak: $(TESTING)
	$(BIN)/python -m pytest tests/store tests/broker/test_table_power_loss.py \
	  tests/trimq/test_kill_server.py tests/hostile tests/codec tests/remoting --soak -rP

soak-spark: $(SPARKING)
	$(BIN)/python -m pytest compat_tests/test_spark_streams.py -k killed --kills 40 -rP
	$(BIN)/python -m pytest compat_tests/test_spark_kills.py -k killed --broker-kills 50 -rP

docs: $(TESTING)
	$(BIN)/python -m docs.generate

help:
	@echo 'make serve           a NameServer on 9876 and a broker on 10911, data in ./data'
	@echo 'make test            everything: lint, unit, unit-bare, compiled, compat, bench-smoke'
	@echo 'make unit            tests that need nothing but Python'
	@echo 'make unit-bare       some of them without what Linux has and macOS lacks'
	@echo 'make lint            ruff, mypy --strict, import contract'
	@echo 'make compiled        the unit tests on a compiled copy of the tree'
	@echo 'make compat          official clients on the real RocketMQ and on TriMQ (JDK 17, Maven, Go)'
	@echo 'make compat-live     the same, and nothing of the real server is taken from a record'
	@echo 'make compat-record   records anew what scenarios show on the real server'
	@echo 'make compat-mutants  deliberately wrong builds, each of which a scenario must notice'
	@echo 'make bench           both brokers side by side; writes bench/RESULTS.md'
	@echo 'make bench-smoke     every part of that for a moment; writes nothing'
	@echo 'make bench-store     the store by itself, up to 20 GiB; writes docs/store-speed.md'
	@echo 'make bench-spark     the Spark sources beside a Java consumer and a plain file read; writes docs/spark.md'
	@echo 'make spark-versions  the Spark tests on every supported minor version of Spark'
	@echo 'make soak            crash, fuzz and property tests for long'
	@echo 'make soak-spark      Spark queries that are killed 40 times at random points, brokers under Spark jobs 50 times'
	@echo 'make docs            regenerate docs/compatibility.md, docs/mqadmin.md, docs/settings.md'
	@echo 'make fmt             format the code'
	@echo 'make clean           remove the environment and everything built'

fmt: $(TESTING)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist .editable *.egg-info .mypy_cache .ruff_cache .pytest_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "TriMQ needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "Python's venv module is missing: on Debian run 'apt-get install python3-venv'" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Plain Python: what is compiled is in $(TREE) and $(SERVED).
$(INSTALLED): $(BIN)/python pyproject.toml $(LOCK)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $(LOCK)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

$(SERVED)/.installed: $(INSTALLED) $(SOURCES) setup.py mypyc.ini building/compiling.py requirements/build.txt
	@echo 'make serve: $(if $(CAN_COMPILE),compiling TriMQ once takes a minute or two ("TRIMQ_COMPILE=0 make serve" \
	does not),installing TriMQ)' >&2
	@rm -rf $(SERVED)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(SERVED) .
	@touch $@

$(TESTING): $(INSTALLED) $(TEST_LOCK)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $(TEST_LOCK)
	@touch $@

# PySpark comes with all of Spark, 450 MB: only what needs it installs it.
$(SPARKING): $(TESTING) $(SPARK_LOCK)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $(SPARK_LOCK)
	@touch $@
