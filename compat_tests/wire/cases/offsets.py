"""Consumer offsets, queue offsets, offsets by time, messages by position."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final

from compat_tests.wire.asks import (
    ask,
    changed,
    commit_offset,
    create_group,
    create_topic,
    pull,
    query_offset,
    queue_question,
    search_offset,
    send,
)
from compat_tests.wire.case import Case, in_binary, row
from compat_tests.wire.frames import Frame
from compat_tests.wire.reading import as_records
from compat_tests.wire.records import read_records
from compat_tests.wire.stage import Stage

MAX, MIN, EARLIEST, SEARCH, VIEW = 30, 31, 32, 29, 33
KNOWN: Final = [create_topic(), create_group(), send(b"0"), send(b"1"), send(b"2")]


def cases() -> Iterator[Case]:
    yield from first_offsets()
    yield from commits()
    yield from queue_offsets()
    yield from fields()
    yield from viewing()
    yield by_time()
    yield stored_position()


def first_offsets() -> Iterator[Case]:
    settings: dict[str, list[Frame]] = {
        "of an empty queue": [create_topic(), create_group()],
        "of a queue with messages": KNOWN,
        "of an unknown group": [create_topic(), send(b"0")],
        "of an unknown topic": [create_group()],
        "of nothing known": [],
    }
    for what, setting in settings.items():
        yield row(f"query offset: first {what}", query_offset(), before=setting)
        for zero in (True, False):
            request = query_offset(setZeroIfNotFound=zero)
            yield row(f"query offset: first {what}, zero {zero}", request, before=setting)
    for queue in (-1, 3, 99):
        yield row(f"query offset: queue {queue}", query_offset(queueId=queue), before=KNOWN)
    retry = query_offset(topic="%RETRY%$G")
    yield row("query offset: of the retry topic", retry, before=KNOWN)


def commits() -> Iterator[Case]:
    ask_back = query_offset()
    for offset in (0, 1, 3, 4, 1000, -1, -100, 1 << 40):
        request = commit_offset(offset)
        yield row(f"commit offset: {offset}", request, before=KNOWN, after=[ask_back])
    again = [*KNOWN, commit_offset(3)]
    yield row("commit offset: back", commit_offset(1), before=again, after=[ask_back])
    yield row("commit offset: on the fast port", commit_offset(2), before=KNOWN[:2], on="fast")
    yield in_binary("commit offset: 2", commit_offset(2), before=KNOWN, after=[ask_back])
    request = commit_offset(2)
    yield row("commit offset: unknown group", request, before=[create_topic()], after=[ask_back])
    yield row("commit offset: unknown topic", request, before=[create_group()], after=[ask_back])
    yield row("commit offset: nothing known", request)
    for queue in (-1, 4, 99):
        other, back = commit_offset(2, queueId=queue), query_offset(queueId=queue)
        yield row(f"commit offset: queue {queue}", other, before=KNOWN, after=[back])
    pulled = pull(queueOffset=0)
    yield row(
        "commit offset: beyond the end, then pull",
        commit_offset(10),
        before=KNOWN,
        after=[ask_back, pulled, pull(queueOffset=10)],
    )


def queue_offsets() -> Iterator[Case]:
    names = {MAX: "max offset", MIN: "min offset", EARLIEST: "earliest time"}
    for code, what in names.items():
        request = queue_question(code)
        yield row(f"{what}: of messages", request, before=KNOWN)
        yield in_binary(f"{what}: of messages", request, before=KNOWN)
        yield row(f"{what}: of an empty queue", request, before=[create_topic()])
        yield row(f"{what}: of an unknown topic", request)
        for queue in (-1, 99):
            yield row(f"{what}: queue {queue}", queue_question(code, queueId=queue), before=KNOWN)
        yield row(f"{what}: on the fast port", request, before=KNOWN[:1], on="fast")
    for committed in (True, False):
        request = queue_question(MAX, committed=committed)
        yield row(f"max offset: committed {committed}", request, before=KNOWN)
    for what, moment in {"0": 0, "-1": -1, "far ahead": 1 << 42, "far back": 1 << 40}.items():
        yield row(f"search offset: at {what}", search_offset(moment), before=KNOWN)
        yield row(f"search offset: at {what}, empty", search_offset(moment), before=KNOWN[:1])
        for kind in ("LOWER", "UPPER"):
            request = search_offset(moment, boundaryType=kind)
            yield row(f"search offset: {kind} at {what}", request, before=KNOWN)
    for kind in ("lower", "upper", "ELVISH", ""):
        request = search_offset(1 << 42, boundaryType=kind)
        yield row(f"search offset: boundary {kind!r}", request, before=KNOWN)
    for moment in (-1, 1 << 42):
        request = search_offset(moment, liteTopic="child")
        yield row(f"search offset: lite topic at {moment}", request, before=KNOWN)
    yield row("search offset: unknown topic", search_offset(0))
    yield row("search offset: queue 99", search_offset(0, queueId=99), before=KNOWN)


def fields() -> Iterator[Case]:
    requests = {
        "query offset": query_offset(),
        "commit offset": commit_offset(1),
        "max offset": queue_question(MAX),
        "min offset": queue_question(MIN),
        "earliest time": queue_question(EARLIEST),
        "search offset": search_offset(0),
    }
    for what, request in requests.items():
        for name in request.ext:
            yield row(f"{what}: without {name}", changed(request, **{name: None}), before=KNOWN)
        numbers = [name for name, value in request.ext.items() if not value.startswith("$")]
        for name in numbers:
            yield row(f"{what}: {name} no number", changed(request, **{name: "x"}), before=KNOWN)
        yield row(f"{what}: no fields at all", ask(request.code))


def viewing() -> Iterator[Case]:
    for offset in (-1, 1 << 40, "x", None):
        yield row(f"view message: at {offset}", ask(VIEW, {"offset": offset}), reader=as_records)
    yield view()


def view() -> Case:
    def play(stage: Stage) -> None:
        stage.must(create_topic())
        reply = stage.must(send(b"look at me"))
        position = int(reply.ext["msgId"][16:], 16)
        for ext in ({"offset": position}, {"offset": position, "topic": "Other"}):
            stage.show(f"with {sorted(ext)}", ask(VIEW, ext), as_records)
        beside = stage.ask(ask(VIEW, {"offset": position + 1}))
        remark = (beside.remark or "").replace(str(position + 1), "that place")
        stage.record("a byte beside", [beside.code, remark, len(beside.body)])

    return Case("view message: by its id", play)


def stored_position() -> Case:
    def play(stage: Stage) -> None:
        stage.must(create_topic())
        ids = [stage.must(send(b"%d" % n)).ext["msgId"] for n in range(3)]
        found = read_records(stage.must(pull()).body)
        positions = [int(message_id[16:], 16) for message_id in ids]
        stage.record("ids tell positions", positions == [r.physical_offset for r in found])
        hosts = {record.store_host for record in found}
        told = {f"127.0.0.1:{int(message_id[8:16], 16)}" for message_id in ids}
        stage.record("ids tell hosts", [told == hosts == {stage.place.broker}, ids[0][:8]])

    return Case("send: the message id is the record's address", play)


def by_time() -> Case:
    def play(stage: Stage) -> None:
        stage.must(create_topic())
        for number in range(4):
            stage.must(send(b"%d" % number))
            time.sleep(0.02)  # The messages need different store times.
        times = [record.store_timestamp for record in read_records(stage.must(pull()).body)]
        moments: dict[str, Any] = {"before all": times[0] - 1, "after all": times[-1] + 1}
        moments |= {f"at {n}": moment for n, moment in enumerate(times)}
        moments |= {f"just before {n}": times[n] - 1 for n in (1, 3)}
        moments |= {f"just after {n}": times[n] + 1 for n in (0, 2)}
        for what, moment in moments.items():
            for kind in (None, "LOWER", "UPPER"):
                request = search_offset(moment, boundaryType=kind)
                stage.show(f"{what} {kind}", changed(request, boundaryType=kind))

    return Case("search offset: by store time", play)
