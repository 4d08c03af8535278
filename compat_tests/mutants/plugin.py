"""pytest with one deliberate mistake: ``MUTANT=NAME pytest -p compat_tests.mutants.plugin TESTS``."""

from __future__ import annotations

import os

from compat_tests.mutants.catalogue import MUTANTS


def pytest_configure() -> None:
    name = os.environ.get("MUTANT")
    if name:
        next(mutant for mutant in MUTANTS if mutant.name == name).patch()
