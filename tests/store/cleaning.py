"""Drives the cleaning of a store step by step, as the broker's service does without waiting."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trimq.store.message_store import MessageStore

HOUR = 3_600_000
# Records of fill(): seven of them fill a file of 1024 bytes.
BODY = bytes(40)


def fill(bench: Any, store: MessageStore, count: int, queues: int = 2, topic: str = "T") -> None:
    """Messages in turn over the queues, on the disk."""
    for number in range(count):
        store.put(bench.message(b"%d" % number + BODY, topic=topic, queue_id=number % queues))
    store.flush()


def write_all(store: MessageStore) -> None:
    """Consume queues and checkpoint are up to date."""
    while store.write_derived():
        pass
    store.plan_checkpoint().run()


def age(bench: Any, hours: float, files: list[Path] | None = None) -> None:
    """As if the commit-log files had last been changed so long ago."""
    moment = (bench.clock.millis - hours * HOUR) / 1000
    for file in bench.commit_log_files() if files is None else files:
        os.utime(file, (moment, moment))


def steps_of_round(store: MessageStore) -> Iterator[str]:
    """One round; stops between any two steps."""
    cleaning = store.cleaning
    one = cleaning.begin_round(cleaning.measure())
    while (segment := cleaning.next_file(one)) is not None:
        if not cleaning.take_out(segment, cleaning.modified(segment), one):
            break
        yield "out of the log"
        if cleaning.is_held(segment):
            break
        cleaning.unlink(segment)
        yield "unlinked"
        cleaning.deleted(segment, one)
    cleaning.end_round(one)


def steps_of_trimming(store: MessageStore) -> Iterator[str]:
    trimming = store.trimming
    if not trimming.begin():
        return
    yield "begun"
    for topic in trimming.find_expired(trimming.not_loaded()):
        trimming.take_up(topic)
    while trimming.has_more:
        trimming.step()
        yield "a step"
    trimming.trim_derived()


def clean(store: MessageStore) -> int:
    """One round of both; how many commit-log files it deleted."""
    before = store.cleaning.deleted_files
    for _ in steps_of_round(store):
        pass
    for _ in steps_of_trimming(store):
        pass
    return store.cleaning.deleted_files - before


def names(files: list[Path]) -> list[int]:
    return [int(file.name) for file in files]
