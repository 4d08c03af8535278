"""In which order names are listed: as the official tool lists them on a pipe, sorted everywhere else."""

from collections.abc import Iterable
from typing import Final

from trimq.codec.names import AUTO_CREATE_TOPIC, DLQ_PREFIX, RETRY_PREFIX, SYSTEM_PREFIX
from trimq.mqadmin.failures import FAILURES
from trimq.mqadmin.framework import Run
from trimq.mqadmin.text.java import hash_order, properties_order

USER: Final = "user"
RETRY: Final = "retry"
DEAD_LETTERS: Final = "deadLetters"
SYSTEM: Final = "system"
_KINDS: Final = (USER, RETRY, DEAD_LETTERS, SYSTEM)


def in_order(run: Run, names: Iterable[str]) -> list[str]:
    """Sorted for JSON and on a terminal, else as the official tool lists what a Java set has."""
    return hash_order(names) if run.out.is_piped_text else sorted(names)


def settings_order(run: Run, keys: Iterable[str]) -> list[str]:
    """The same of what Java keeps as Properties."""
    return properties_order(keys) if run.out.is_piped_text else sorted(keys)


def topic_kinds(run: Run, names: Iterable[str]) -> dict[str, str]:
    """USER, RETRY, DEAD_LETTERS or SYSTEM by topic; users' topics first, the system's last, sorted."""
    system = _system_topics(run)
    kinds = {name: _kind(name, system) for name in sorted(names)}
    return dict(sorted(kinds.items(), key=lambda item: _KINDS.index(item[1])))


def _kind(name: str, system: frozenset[str]) -> str:
    if name.startswith(RETRY_PREFIX):
        return RETRY
    if name.startswith(DLQ_PREFIX):
        return DEAD_LETTERS
    # Apart from what every broker has, brokers say which.
    is_system = name in system or name == AUTO_CREATE_TOPIC or name.startswith(SYSTEM_PREFIX)
    return SYSTEM if is_system else USER


def _system_topics(run: Run) -> frozenset[str]:
    """What the masters call their own; they have their names and their clusters' as topics."""
    found: frozenset[str] = frozenset()
    for broker in run.admin.cluster_info().broker_addr_table.values():
        for addr in broker.broker_addrs.values():
            try:
                found |= run.admin.system_topics(addr)
                break
            except FAILURES as error:
                run.warn(
                    f"it is not known which of its topics are system topics: {run.sentence(error)}"
                )
    return found
