"""All cases in one list."""

from __future__ import annotations

from compat_tests.wire.case import Case
from compat_tests.wire.cases import (
    bad_input,
    batch_topics,
    batches,
    clients,
    greetings,
    holding,
    languages,
    locks,
    modes,
    namesrv,
    offsets,
    operating,
    positions,
    pulling,
    querying,
    registering,
    retries,
    sending,
    static_and_lite,
    topics,
)

MODULES = (
    # The slow ones first: they wait while the others run.
    operating,
    holding,
    retries,
    clients,
    languages,
    namesrv,
    registering,
    sending,
    batches,
    batch_topics,
    pulling,
    querying,
    offsets,
    positions,
    locks,
    modes,
    static_and_lite,
    topics,
    greetings,
    bad_input,
)


def all_cases() -> list[Case]:
    """Every case; two of one name would hide each other."""
    cases = [case for module in MODULES for case in module.cases()]
    names = [case.name for case in cases]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"case names used twice: {sorted(twice)}")
    return cases
