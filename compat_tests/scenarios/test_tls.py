"""The same over TLS: with certificates that are asked for and checked on both sides, and without any setting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from compat_tests.scenarios.batches import JAVA_TLS, JAVA_TLS_UNASKED, TLS, TLS_UNASKED, Case, cases
from compat_tests.scenarios.driver import JAVA_4, JAVA_5, JavaDriver
from compat_tests.scenarios.stage import Stage
from compat_tests.servers.server import Tls


@dataclass(frozen=True)
class Certified(JavaDriver):
    """Shows a certificate, and allows what the server allows."""

    def command(self, folder: Path, tls: Tls | None) -> Sequence[str]:
        command = super().command(folder, tls)
        if tls is not None:
            tls.write_properties(folder / "tls.properties")
        return command


@dataclass(frozen=True)
class Trusting(JavaDriver):
    """As -Dtls.enable=true alone has it."""

    def command(self, folder: Path, tls: Tls | None) -> Sequence[str]:
        return [*super().command(folder, None), "--tls"]


CERTIFIED = tuple(Certified(driver.client) for driver in (JAVA_5, JAVA_4))
TRUSTING = tuple(Trusting(driver.client) for driver in (JAVA_5, JAVA_4))


@pytest.mark.parametrize("case", cases(TLS, *JAVA_TLS, drivers=CERTIFIED), ids=str)
def test_same_outcome_over_tls(stage: Stage, case: Case) -> None:
    stage.check(case)


@pytest.mark.parametrize("case", cases(TLS_UNASKED, *JAVA_TLS_UNASKED, drivers=TRUSTING), ids=str)
def test_same_outcome_over_tls_without_any_setting(stage: Stage, case: Case) -> None:
    stage.check(case)
