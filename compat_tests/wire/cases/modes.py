"""Whether groups pull or pop; how far replication is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from compat_tests.wire import fastjson
from compat_tests.wire.asks import ask, body_of, create_group, create_topic
from compat_tests.wire.case import Case, row
from compat_tests.wire.frames import Frame
from compat_tests.wire.reading import as_json
from compat_tests.wire.stage import Stage

SET_MODE, ALL_MODES, REPLICATION = 401, 402, 907
MADE: Final = (create_topic(), create_group())


def set_mode(**fields: object) -> Frame:
    usual: dict[str, object] = {
        "topic": "$T",
        "consumerGroup": "$G",
        "mode": "POP",
        "popShareQueueNum": 2,
    }
    return ask(SET_MODE, body=body_of({**usual, **fields}))


def cases() -> Iterator[Case]:
    yield row("request mode: set", set_mode(), before=MADE)
    yield row("request mode: pull", set_mode(mode="PULL", popShareQueueNum=0), before=MADE)
    yield row("request mode: twice", set_mode(mode="PULL"), before=[*MADE, set_mode()])
    yield row("request mode: of all queues", set_mode(popShareQueueNum=-1), before=MADE)
    yield row("request mode: no such topic", set_mode(topic="no-$T"), before=MADE)
    yield row("request mode: of a retry topic", set_mode(topic="%RETRY%$G"), before=MADE)
    yield Case("request mode: all", all_modes)
    yield row("ha status: no slaves", ask(REPLICATION), reader=without_end)


def all_modes(stage: Stage) -> None:
    """The table is everybody's: what this case put into it is shown."""
    for frame in (*MADE, set_mode()):
        stage.must(frame)
    stage.show("reply", ask(ALL_MODES), lambda body: of_topic(body, stage))


def of_topic(body: bytes, stage: Stage) -> Any:
    seen = as_json(body)
    tables = seen["value"]["messageRequestModeMap"]
    topic = stage.fill("$T")
    seen["value"]["messageRequestModeMap"] = {topic: tables[topic]}
    return seen


def without_end(body: bytes) -> Any:
    """Where the log ends depends on all other cases."""
    seen = as_json(body)
    end = seen["value"].pop("masterCommitLogMaxOffset")
    assert isinstance(end, int), fastjson.canonical(end)
    return seen
