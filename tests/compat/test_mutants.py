"""The catalogue of deliberate mistakes names tests that exist: one that is gone would count as red."""

import pytest

from compat_tests.mutants.catalogue import MUTANTS
from compat_tests.servers.artifacts import ROOT


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_tests_that_must_notice_it_exist(mutant):
    for test in mutant.tests:
        path, *names = test.split("::")
        assert (ROOT / path).is_file(), test
        text = (ROOT / path).read_text(encoding="utf-8")
        for name in names:
            plain = name.partition("[")[0]
            assert any(f"{word} {plain}" in text for word in ("def", "class")), test
