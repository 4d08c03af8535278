"""pytest with one deliberate mistake: ``MUTANT=NAME pytest -p compat_tests.mutants.plugin TESTS``."""

from __future__ import annotations

import os

from hypothesis import Phase, settings

from compat_tests.mutants.catalogue import MUTANTS


def pytest_configure() -> None:
    name = os.environ.get("MUTANT")
    if name:
        next(mutant for mutant in MUTANTS if mutant.name == name).patch()


def pytest_sessionstart() -> None:
    """That an example is found is all that matters: nobody waits for the shortest."""
    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("unshrunk", settings(), phases=phases, report_multiple_bugs=False)
    settings.load_profile("unshrunk")
