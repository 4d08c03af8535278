"""A case: a name and what it does on its stage.

A row is the usual one: some setting, one request, its reply.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from compat_tests.wire import reading
from compat_tests.wire.frames import BINARY_CODING, Frame
from compat_tests.wire.reading import Reader
from compat_tests.wire.stage import Stage

Play = Callable[[Stage], None]


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    play: Play
    alone: bool = False
    """Whether what it does shows in other cases: played when they are over, and cleans up."""


def row(
    name: str,
    request: Frame,
    *,
    before: Iterable[Frame] = (),
    after: Iterable[Frame] = (),
    reader: Reader = reading.as_json,
    on: str = "broker",
    pause: float = 0,
) -> Case:
    """Setting, request `pause` seconds later, and what later requests show of its effect."""
    setting, effects = tuple(before), tuple(after)

    def play(stage: Stage) -> None:
        for frame in setting:
            stage.must(frame, on)
        time.sleep(pause)
        stage.show("reply", request, reader, on)
        for number, frame in enumerate(effects):
            effect_reader = reading.as_records if frame.code in (11, 361) else reading.as_json
            stage.show(f"effect {number}", frame, effect_reader, on)

    return Case(name, play)


def in_binary(case_name: str, request: Frame, **more: object) -> Case:
    """The same with the ROCKETMQ header coding."""
    request = Frame(
        request.code,
        flag=request.flag,
        ext=dict(request.ext),
        body=request.body,
        version=request.version,
        language=request.language,
        coding=BINARY_CODING,
    )
    return row(case_name + " (binary header)", request, **more)  # type: ignore[arg-type]
