# TriMQ's commands. `make serve` runs it, `make test` tests it, `make help` names the others.
# PYTHON is the interpreter that the environment in $(VENV) is made with (3.11 or newer).
PYTHON ?= python3
VENV ?= .venv
BIN := $(abspath $(VENV))/bin
INSTALLED := $(VENV)/.installed
TESTING := $(VENV)/.has-test
SPARKING := $(VENV)/.has-spark
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Where `make serve` listens; port 0 picks a free one.
NAMESRV_LISTEN ?= 127.0.0.1:9876
LISTEN ?= 127.0.0.1:10911
# What is tested, in parts that run side by side (tests/run/table.py), which RocketMQ it is compared with, and where.
export TRIMQ_REFERENCE := $(REFERENCE)
PARTS := $(BIN)/python -m tests.run.parts
WITH_ENGINE := $(BIN)/python -m compat_tests.servers.containers
FETCHED := $(BIN)/python -m compat_tests.servers.artifacts

.PHONY: help serve test proof unit unit-bare shake compiled tree lint pythons fmt docs site wheels image release clean
.PHONY: compat-live compat-record compat-mutants drift bench bench-smoke bench-store bench-spark spark-versions soak soak-kills soak-spark
.DEFAULT_GOAL := help
serve: $(INSTALLED)
	@exec $(BIN)/python building/serving.py --namesrv-listen $(NAMESRV_LISTEN) --listen $(LISTEN) --store ./data
# Where no tool may be missing (TRIMQ_REQUIRE), Spark and what makes the site are installed, too.
test: $(if $(TRIMQ_REQUIRE),$(SPARKING) $(VENV)/.has-site,$(TESTING))
	@$(PARTS) first second
# Spark first, so that no test of it is skipped.
proof: $(SPARKING) $(if $(TRIMQ_REQUIRE),$(VENV)/.has-site)
	$(FETCHED)
	@$(WITH_ENGINE) $(PARTS) $(if $(SINCE),--since $(SINCE)) build proof
unit unit-bare: $(TESTING)
	@$(PARTS) $@
shake: $(TESTING)
	@$(BIN)/python -m tests.run.shake $(SHAKE)
compiled: $(TESTING)
	@$(PARTS) quick compiled
# A copy of the tree in build/compiled with its hot modules compiled: what benchmarks measure.
tree: $(TESTING)
	@$(BIN)/python building/tree.py
pythons: $(TESTING)
	$(BIN)/python -m tests.run.pythons $(PYTHONS)
lint: $(TESTING)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
# Before a release: everything on the real server too, whatever compat_tests/records holds.
compat-live: tree $(SPARKING)
	$(FETCHED) --old
	$(BIN)/python -m pytest -p no:randomly --durations=10 compat_tests --live
# What the real server shows, anew. Some of it alone: make compat-record RECORDED=compat_tests/wire
RECORDED := compat_tests/scenarios compat_tests/wire compat_tests/mqadmin/test_mqadmin.py
compat-record: tree
	$(BIN)/python -m pytest -p no:randomly --durations=10 --record $(RECORDED)
compat-mutants: $(TESTING)
	$(BIN)/python -m compat_tests.mutants.run
bench: tree
	$(BIN)/python -m bench
# As a part of the proof it stands on what that has built.
bench-smoke: $(if $(BUILT),,tree)
	cd bench/loadgen && go vet . && go test .
	$(BIN)/python -m bench --smoke
bench-spark: $(SPARKING)
	$(BIN)/python -m bench.spark --write-docs
	$(BIN)/python -m bench.spark.queues --kinds real pure
bench-store: $(TESTING)
	$(BIN)/python -m bench.store --write-docs
spark-versions: $(SPARKING)
	$(BIN)/python -m compat_tests.spark.run_versions
soak-spark: $(SPARKING)
soak soak-kills soak-spark: $(TESTING)
	$(BIN)/python -m tests.run.soak $@
drift: $(TESTING)
	@$(BIN)/python -m compat_tests.drift $(OLD) $(NEW) $(if $(KEEP),--keep)
docs: $(TESTING) ; $(BIN)/python -m docs.generate
site: $(VENV)/.has-site ; @$(BIN)/python -m docs.site
image: $(BIN)/python ; $(BIN)/python -m releasing.image $(if $(MACHINE),--machine $(MACHINE))
wheels: $(TESTING) ; @$(BIN)/python -m releasing.wheels $(if $(ONLY),--only $(ONLY))
release: $(TESTING) ; @$(BIN)/python -m releasing.release $(VERSION) $(if $(DRY_RUN),--dry-run) $(if $(TESTED),--tested)
fmt: $(TESTING)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
help: ; @cat building/help.txt
clean:
	rm -rf $(VENV) build dist .editable *.egg-info .mypy_cache .ruff_cache .pytest_cache

$(BIN)/python:
	@$(PYTHON) building/python_check.py
	$(PYTHON) -m venv $(VENV)
# Plain Python: what is compiled is in build/compiled for tests, and in build/served-* for `make serve`.
$(INSTALLED): $(BIN)/python pyproject.toml requirements/runtime.txt
	$(PIP) --require-hashes -r requirements/runtime.txt
	$(PIP) --no-deps --editable .
	@: > $@
# PySpark comes with all of Spark, 450 MB: only what needs it installs it.
$(SPARKING) $(VENV)/.has-site: $(TESTING)
$(VENV)/.has-%: requirements/%.txt $(INSTALLED)
	$(PIP) --require-hashes -r $<
	@: > $@
