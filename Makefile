# TriMQ's commands. `make serve` runs it, `make test` tests it.
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

.PHONY: help serve test unit unit-bare compat compat-live compat-record compiled compat-mutants bench bench-smoke bench-store bench-spark spark-versions soak soak-kills soak-spark lint fmt docs clean

.DEFAULT_GOAL := help

# Plain Python at once, and compiled as soon as that is there.
serve: $(INSTALLED)
	@exec $(BIN)/python building/serving.py --namesrv-listen $(NAMESRV_LISTEN) --listen $(LISTEN) --store ./data

# Parts run side by side (tests/run), and their times stand at the end. Spark first, so that no test of it
# is skipped. PYTEST_REPORT is an option of pytest's.
PARTS := $(BIN)/python -m tests.run.parts
WITH_ENGINE := $(BIN)/python -m compat_tests.servers.containers

test: $(SPARKING)
	$(BIN)/python -m compat_tests.servers.artifacts
	$(WITH_ENGINE) $(PARTS) first second

lint: $(TESTING)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: $(TESTING)
	$(PARTS) unit

# Without what not every system has (tests/bare takes it away). Left out: tests that replace just that, or see Trio loaded.
BARE_TESTS := tests/remoting tests/trimq/serving/test_server.py tests/trimq/serving/test_kill_server.py tests/trimq/commands/test_cli.py \
  $(addprefix tests/store/,disk/test_system.py reading/test_reading.py appending opening/test_recovery.py opening/test_refused_stores.py opening/test_believed_checkpoint.py opening/test_kill.py checking/test_check.py)
NOT_BARE := no_trio or hot_cold_and_blocking or without_nowait or kill_changes_no_queue_file or one_write_for_all
unit-bare: $(TESTING)
	PYTHONPATH=tests/bare $(BIN)/python -m pytest $(PYTEST_REPORT) $(BARE_TESTS) -k 'not ($(NOT_BARE))'

# Tests mostly wait, for servers, for Spark, for brokers that are away: three parts of them run at a time.
COMPAT := $(BIN)/python -m pytest -p no:randomly --durations=10
compat: $(TREE)/.built $(SPARKING)
	$(BIN)/python -m compat_tests.servers.artifacts
	$(WITH_ENGINE) $(PARTS) compat

# Everything on the real server too, whatever compat_tests/records holds: before a release.
compat-live: $(TREE)/.built $(SPARKING)
	$(BIN)/python -m compat_tests.servers.artifacts --old
	$(COMPAT) compat_tests --live

# What the real server shows, anew: after a change of what is played on it, or of normalise.py. Some of it alone:
# make compat-record RECORDED=compat_tests/wire
RECORDED := compat_tests/scenarios compat_tests/wire
compat-record: $(TREE)/.built
	$(COMPAT) --record $(RECORDED)

# The unit tests once more, on the compiled modules. TRIMQ_COMPILE=1 makes a missing compiler an error.
compiled: $(TREE)/.built
	@if ls $(TREE)/codec/frames/frame*.so >/dev/null 2>&1; then $(PARTS) compiled; \
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
	$(BIN)/python -m compat_tests.mutants.run

bench: $(TREE)/.built
	$(BIN)/python -m bench

# Whether every part of the benchmarks runs. The figures mean nothing and are not kept.
bench-smoke: $(TREE)/.built
	cd bench/loadgen && go vet . && go test .
	@if ls $(TREE)/codec/frames/frame*.so >/dev/null 2>&1; then $(BIN)/python -m bench --smoke; \
	else echo 'skipped: the benchmarks, there is no C compiler (apt-get install gcc python3-dev)'; fi

bench-spark: $(SPARKING)
	$(BIN)/python -m bench.spark --write-docs
	$(BIN)/python -m bench.spark.queues --kinds real pure

# The Spark tests on the first and last release of each minor version that is supported.
spark-versions: $(SPARKING)
	$(BIN)/python -m compat_tests.spark.run_versions

bench-store: $(TESTING)
	$(BIN)/python -m bench.store --write-docs

# A hundred kills with -9 for each seed and test. To go on where it was stopped: make soak-kills KILL_SEEDS='7 8 9 10'
KILL_SEEDS := 1 2 3 4 5 6 7 8 9 10
soak-kills: $(TESTING)
	for seed in $(KILL_SEEDS); do $(BIN)/python -m pytest $(addprefix tests/trimq/serving/test_kill_,\
	  pops.py timers.py transactions.py) --server-kills 100 --kill-seed $$seed -rP || exit 1; done

soak: soak-kills
	$(BIN)/python -m pytest tests/store tests/broker/tables/test_power_loss.py tests/broker/elastic/test_machine.py \
	  tests/broker/transactions/test_state_machine.py tests/trimq/serving/test_kill_server.py \
	  tests/hostile tests/codec tests/remoting tests/history tests/trimq/replication tests/net \
	  tests/trimq/supervising/test_family_history.py --soak -rP
	$(BIN)/python building/sanitized.py
	$(BIN)/python -m pytest compat_tests/scenarios/test_order.py --order-seconds 900
	$(BIN)/python -m pytest compat_tests/filters --sql-questions 20000

soak-spark: $(SPARKING)
	$(BIN)/python -m pytest compat_tests/spark/test_streams.py -k killed --kills 40 -rP
	$(BIN)/python -m pytest compat_tests/spark/test_kills.py -k killed --broker-kills 50 -rP

docs: $(TESTING)
	$(BIN)/python -m docs.generate

help:
	@echo 'make serve           a NameServer on 9876 and a broker on 10911, data in ./data'
	@echo 'make test            lint, unit, unit-bare, compiled, compat (a quarter of its long parts a day, TRIMQ_TURN=all: all), bench-smoke'
	@echo 'make unit            tests that need nothing but Python'
	@echo 'make unit-bare       some of them without what Linux has and macOS lacks'
	@echo 'make lint            ruff, mypy --strict, import contract'
	@echo 'make compiled        the unit tests on a compiled copy of the tree'
	@echo 'make compat          official clients on the real RocketMQ and on TriMQ (JDK 17, Maven, Go)'
	@echo 'make compat-live     the same, with nothing of the real server taken from records'
	@echo 'make compat-record   records again what scenarios and wire cases show on the real server'
	@echo 'make compat-mutants  deliberately wrong builds, each of which a scenario must notice'
	@echo 'make bench           both brokers side by side, warm; writes bench/RESULTS.md, tables in README.md and docs/speed.md'
	@echo 'make bench-smoke     a short run of every part of that; writes nothing'
	@echo 'make bench-store     the store by itself, up to 20 GiB; writes docs/store-speed.md'
	@echo 'make bench-spark     the Spark sources beside a Java consumer and a plain file read; writes docs/spark.md'
	@echo 'make spark-versions  the Spark tests on every supported minor version of Spark'
	@echo 'make soak            crash, fuzz and property tests for long; our own C under sanitizers; orderly consumers for 15 minutes'
	@echo 'make soak-kills      of that, a server under POP, timers and transactions that is killed 1,000 times for each'
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

# Plain Python: what is compiled is in $(TREE), and in build/served-* for `make serve`.
$(INSTALLED): $(BIN)/python pyproject.toml $(LOCK)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(LOCK)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

$(TESTING): $(INSTALLED) $(TEST_LOCK)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(TEST_LOCK)
	@touch $@

# PySpark comes with all of Spark, 450 MB: only what needs it installs it.
$(SPARKING): $(TESTING) $(SPARK_LOCK)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(SPARK_LOCK)
	@touch $@
