"""The table of tests that may wait by the clock."""

from __future__ import annotations

import re

from tests.run.part import ROOT
from tests.run.slow import MOST_TESTS, SLOW, complaint, of_a_unit


def test_they_are_few_and_each_has_a_reason() -> None:
    assert len(SLOW) <= MOST_TESTS == 20
    assert all(len(why.split()) > 3 for why in SLOW.values())


def test_each_is_there_and_a_unit_test() -> None:
    for name in SLOW:
        assert of_a_unit(name) == name
        file, _, function = name.partition("::")
        source = (ROOT / file).read_text()
        assert re.search(rf"^ *(async )?def {function.rpartition('::')[2]}\(", source, re.M), name


def test_who_waits_without_a_reason_is_told() -> None:
    name = "tests/codec/test_headers.py::test_one"
    assert complaint(f"{name}[a/b]", 1.0) is None
    said = complaint(f"{name}[a/b]", 1.21)
    assert said is not None
    assert said.startswith(f"{name} waited for 1.21 s by the clock")
    assert complaint(f"{next(iter(SLOW))}[x]", 100) is None


def test_those_that_start_processes_may_wait() -> None:
    assert of_a_unit("tests/trimq/serving/test_flush.py::test_one") is None
    assert of_a_unit("compat_tests/wire/test_wire.py::test_one") is None
    # As seen from another folder.
    assert of_a_unit("../wt/tests/base/test_staggered_wakeups.py::test_one[a]") == (
        "tests/base/test_staggered_wakeups.py::test_one"
    )
