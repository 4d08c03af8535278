"""Which live parts a change has played: one change of each kind, and what tests import."""

from __future__ import annotations

import ast

import pytest

from tests.run import reads, watched
from tests.run.choosing import DUE, OTHER, UNCHANGED, UNKNOWN, Choice, choose
from tests.run.part import ROOT, Part
from tests.run.table import live_parts

PARTS = live_parts()
EVERY = {part.name for part in PARTS}
SCENARIOS = {
    *("clients", "clients-asking", "clients-delayed", "java", "java-many", "order", "proxy"),
    "proxy-ours",
}


def chosen(*changed: str) -> dict[str, str]:
    """The parts that are played, and why."""
    return {one.part.name: one.why for one in choose(PARTS, changed) if one.is_played}


@pytest.mark.parametrize(
    "file",
    [
        "codec/records/record.py",
        "codec/native/_sends.c",
        "store/appending/appender.py",
        "broker/consume/pulling.py",
        "processors/produce/send_message_v2.py",
        "remoting/serving/receive_frames.py",
        "admin/client.py",
        "trimq/wiring/broker.py",
        "base/clock.py",
        "building/compiling.py",
        "requirements/runtime.txt",
        "pyproject.toml",
        "Makefile",
        "newcomer/who.py",
        "compat_tests/conftest.py",
        "compat_tests/comparing/normalise.py",
        "compat_tests/servers/proxy.py",
        "compat_tests/scenarios/java/src/driver/Saw.java",
        "compat_tests/scenarios/java/pom-rocketmq-client-4.9.8.xml",
        "compat_tests/scenarios/go/go.mod",
    ],
)
def test_what_all_parts_need_has_all_played(file: str) -> None:
    assert chosen(file).keys() == EVERY


@pytest.mark.parametrize(
    ("file", "played", "left_out"),
    [
        ("store/timers/wheel.py", {"clients-delayed", "store-aging", "wire", "java"}, {"order"}),
        (
            "broker/timers/service.py",
            {"clients-delayed", "store-aging", "replication"},
            {"reports"},
        ),
        (
            "broker/pop/revive/service.py",
            {"clients", "store-turns", "proxy", "wire"},
            {"spark", "java"},
        ),
        ("broker/elastic/maps.py", {"elastic", "order", "wire"}, {"store", "spark", "installs"}),
        ("broker/lite/events.py", {"proxy", "store-turns", "wire"}, {"java", "spark"}),
        ("broker/transactions/ending.py", {"clients-delayed", "store-turns"}, {"java", "spark"}),
        ("broker/compaction/compaction.py", {"store-aging"}, {"store-turns", "clients"}),
        ("codec/sql/lexing.py", {"filters", "clients-asking", "spark"}, {"store-turns", "order"}),
        (
            "processors/timers/switch_timer_engine.py",
            {"mqadmin", "clients-delayed"},
            {"spark-away"},
        ),
        ("spark/reading/pulling.py", {"spark", "spark-away", "reports"}, {"java", "store", "wire"}),
        ("mqadmin/commands/tail.py", {"mqadmin", "cluster"}, {"spark", "store", "java", "wire"}),
        ("replication/slave.py", {"replication", "replication-copies"}, {"spark", "clients"}),
        ("namesrv/routes.py", {"cluster", "spark-away", "mqadmin"}, {"store", "filters"}),
        ("store/checking/check.py", {"store", "replication"}, {"clients-delayed", "java"}),
        ("LICENSE", {"installs", "wheels"}, EVERY - {"installs", "wheels"}),
    ],
)
def test_a_subject_has_its_parts_played(file: str, played: set[str], left_out: set[str]) -> None:
    assert (ROOT / file).exists()
    found = chosen(file)
    assert played <= found.keys()
    assert not left_out & found.keys()
    assert {found[name] for name in played} <= {f"{file}: watched", f"{file}: imported"}


@pytest.mark.parametrize(
    ("file", "played"),
    [
        ("compat_tests/scenarios/test_order.py", {"order"}),
        ("compat_tests/scenarios/test_java.py", {"java", "java-many"}),
        ("compat_tests/store/test_timers.py", {"store-aging"}),
        # In its folder are helpers for one part, and for two.
        ("compat_tests/scenarios/cpp_client.py", {"clients"}),
        ("compat_tests/store/retention_sides.py", {"store-aging"}),
        ("compat_tests/spark/stages/query.py", {"spark-away"}),
        ("compat_tests/spark/stages/names_job.py", {"spark"}),
        ("compat_tests/installs/round_trip.py", {"installs", "wheels"}),
        ("compat_tests/wheels/kept.py", {"wheels"}),
        ("releasing/packing.py", {"wheels"}),
        ("releasing/image.py", {"images", "chart"}),
        ("compat_tests/mqadmin/hand_members.py", {"mqadmin", "reports"}),
        (
            "compat_tests/scenarios/subjects/timers/java/driver/TimersScenarios.java",
            # A gRPC client is built of another file of this subject.
            {"clients-delayed", "proxy", "proxy-ours"},
        ),
        (
            "compat_tests/scenarios/subjects/timers/go/timers.go",
            {"clients-delayed", "proxy", "proxy-ours"},
        ),
        ("compat_tests/scenarios/subjects/grpc/go/go.mod", {"images", "proxy", "proxy-ours"}),
        ("compat_tests/scenarios/subjects/replicas/go/replicas.go", {"replication"}),
        ("compat_tests/records/wire/timers.json", {"wire"}),
        ("compat_tests/records/scenarios/java-5.5.0-grpc_kill9.json", {"proxy"}),
        ("compat_tests/records/scenarios/java-4.9.8-transactions.json", {"clients-delayed"}),
        ("compat_tests/records/scenarios/java-5.5.0-readonly.json", SCENARIOS),
        ("compat_tests/filters/java/Oracle.java", {"filters"}),
        ("compat_tests/elastic/member.go", {"elastic"}),
        ("compat_tests/old/java/Old.java", {"cluster"}),
        ("compat_tests/golden/Golden.java", set()),
        ("compat_tests/golden/record.py", set()),
        ("compat_tests/README.md", set()),
        # Somebody has deleted a helper.
        ("compat_tests/elastic/gone.py", {"elastic"}),
        ("compat_tests/elastic/test_gone.py", set()),
        ("docs/hand.md", {"hand"}),
        ("docs/proxy.md", {"proxy"}),
        ("docs/migrate.md", {"replication"}),
        ("docs/spark.md", {"spark"}),
        ("docs/offset-report.md", {"spark", "reports"}),
        ("docs/timers.md", set()),
        ("docs/differences.py", {"proxy-calls", "wire"}),
        ("docs/generate.py", set()),
        ("CHANGELOG.md", set()),
        ("bench/parts/pops.py", set()),
        ("bench/loadgen/go.mod", set()),
        ("tests/store/timers/test_wheel.py", set()),
        ("tests/vectors/commitlog-head.bin", {"mqadmin"}),
        ("tests/vectors/checkpoint.bin", set()),
        ("tests/run/table.py", set()),
        ("compat_tests/records/store/defaults.zst", set()),
        ("compat_tests/store/test_recorded.py", set()),
        ("compat_tests/records/mqadmin/topics.json", {"mqadmin"}),
        (".gitignore", set()),
    ],
)
def test_files_of_tests_and_pages(file: str, played: set[str]) -> None:
    found = chosen(file)
    assert found.keys() == played
    assert all(file in why for why in found.values())


def test_each_part_is_told_why() -> None:
    changed = [
        "broker/pop/revive/service.py",
        "compat_tests/scenarios/test_order.py",
        "docs/pop.md",
    ]
    by_name = {one.part.name: one for one in choose(PARTS, changed, due=["installs", "order"])}
    assert list(by_name) == [part.name for part in PARTS]
    assert by_name["wire"].why == "broker/pop/revive/service.py: watched"
    assert by_name["order"].why == "its own test compat_tests/scenarios/test_order.py"
    assert by_name["installs"] == Choice(by_name["installs"].part, True, DUE)
    assert by_name["reports"] == Choice(by_name["reports"].part, False, UNCHANGED)
    (appender, *_) = chosen("store/appending/appender.py").values()
    assert appender == "changes everywhere: store/appending/appender.py"


def test_nothing_has_changed_or_nobody_knows() -> None:
    assert [one.why for one in choose(PARTS, [])] == [UNCHANGED] * len(PARTS)
    assert not any(one.is_played for one in choose(PARTS, []))
    assert {(one.is_played, one.why) for one in choose(PARTS, None)} == {(True, UNKNOWN)}


def test_parts_of_another_kind_are_played() -> None:
    other = [Part("lint", ("make", "lint")), Part("unit", ("tests/store",))]
    assert {(one.is_played, one.why) for one in choose(other, [])} == {(True, OTHER)}


def imported_by(file: str) -> set[str]:
    """The modules of the product that it imports, as paths; found in another way than tests/run/reads.py does."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("trimq"):
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
            found |= {f"{name.replace('.', '/')}.py" for name in names}
    linked = {path.name for path in (ROOT / "trimq").iterdir() if path.is_symlink()}
    short = {
        path.removeprefix("trimq/") if set(path.split("/")[1:2]) & linked else path
        for path in found
    }
    return {path for path in short if (ROOT / path).is_file()}


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_a_part_is_played_for_what_its_tests_import(part: Part) -> None:
    own = reads.own_tests(part)
    assert own
    helpers = {str(file) for file in reads.of(part).files if file.startswith("compat_tests/")}
    assert own <= helpers
    for file in sorted(own):
        for module in imported_by(file):
            (one,) = choose([part], [module])
            assert one.is_played, f"{file} imports {module}"


def test_imports_are_found() -> None:
    """In functions, through links and packages, of scripts that are started; and commands end the search."""
    aging = reads.of(next(part for part in PARTS if part.name == "store-aging")).files
    assert {"store/message_store.py", "store/__init__.py", "codec/records/record.py"} <= aging
    assert "trimq/store/message_store.py" not in aging
    elastic = reads.of(next(part for part in PARTS if part.name == "elastic")).files
    assert "trimq/testing.py" in elastic
    assert "broker/timers/service.py" not in elastic
    store_turns = reads.of(next(part for part in PARTS if part.name == "store-turns")).files
    assert "tests/popping/judging.py" in store_turns
    spark = reads.of(next(part for part in PARTS if part.name == "spark")).files
    assert "compat_tests/spark/stages/names_job.py" in spark


def test_what_a_part_imports_has_it_played_whoever_watches() -> None:
    """Wrong builds, of which `filters` plays one, name much of the product."""
    assert "filters" not in watched.SUBJECTS["pop"].parts
    assert (
        chosen("broker/pop/revive/service.py")["filters"]
        == "broker/pop/revive/service.py: imported"
    )


@pytest.mark.parametrize("folder", ["broker/pop", "spark", "trimq/commands"])
def test_imports_are_found_without_parsing_all(folder: str) -> None:
    for path in sorted((ROOT / folder).rglob("*.py")):
        data = path.read_bytes()
        some, all_of_it = (reads._parsed(data, whole=whole) for whole in (False, True))
        # What looks like an import and is none changes nothing.
        assert reads._imported(some) >= reads._imported(all_of_it), path
    broken = b"from a import (  # (b)\n    b,\n)\nimport c\n"
    assert reads._imported(reads._parsed(broken, whole=False)) == {"a", "a.b", "c"}
