"""All cases in one list."""

from __future__ import annotations

from compat_tests.wire.case import Case
from compat_tests.wire.cases import (
    bad_input,
    batch_topics,
    batches,
    clients,
    counters,
    deleting_lists,
    filtering,
    greetings,
    holding,
    kinds,
    languages,
    light_queues,
    lite_news,
    lite_topics,
    locks,
    modes,
    namesrv,
    odd_fields,
    offset_tables,
    offsets,
    operating,
    orderly_pops,
    pop_names,
    pop_questions,
    pop_settings,
    popping,
    positions,
    pulling,
    querying,
    recalls,
    registering,
    replying,
    retries,
    sending,
    static_and_lite,
    timers,
    topics,
    transactions,
    unlike_json,
    viewing,
    viewing_light,
)

MODULES = (
    # The slow ones first: they wait while the others run.
    transactions,
    operating,
    holding,
    replying,
    retries,
    clients,
    counters,
    deleting_lists,
    languages,
    light_queues,
    namesrv,
    registering,
    sending,
    batches,
    batch_topics,
    pulling,
    filtering,
    querying,
    offset_tables,
    offsets,
    pop_names,
    pop_questions,
    pop_settings,
    popping,
    positions,
    locks,
    modes,
    static_and_lite,
    kinds,
    timers,
    recalls,
    orderly_pops,
    lite_topics,
    lite_news,
    topics,
    greetings,
    bad_input,
    unlike_json,
    viewing,
    viewing_light,
    odd_fields,
)


def cases_by_module() -> dict[str, list[Case]]:
    """Every case, by the path of its module; two of one name would hide each other."""
    found = {str(module.__file__): list(module.cases()) for module in MODULES}
    names = [case.name for cases in found.values() for case in cases]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"case names used twice: {sorted(twice)}")
    return found


def servers_by_module() -> dict[str, str]:
    """On which servers the cases of a module are played: the plain ones, unless it says others (SERVERS)."""
    return {str(module.__file__): getattr(module, "SERVERS", "plain") for module in MODULES}


def all_cases() -> list[Case]:
    return [case for cases in cases_by_module().values() for case in cases]
