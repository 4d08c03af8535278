"""All cases."""

from __future__ import annotations

from typing import Final

from compat_tests.proxy.case import Case
from compat_tests.proxy.cases import names, others, receipts, receives, routes, sends, telemetry

# By the module that they are recorded as.
CASES: Final[dict[str, list[Case]]] = {
    "names": names.CASES,
    "routes": routes.CASES,
    "sends": sends.CASES,
    "receives": receives.CASES,
    "receipts": receipts.CASES,
    "telemetry": telemetry.CASES,
    "others": others.CASES,
}
