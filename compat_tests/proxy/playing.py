"""Plays cases against one proxy: what each was answered, and what the proxy asked of its servers for that."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from google.protobuf.message import Message

from compat_tests.proxy.calls import Caller, Metadata, as_json, request_of
from compat_tests.proxy.case import METADATA, Case, Step
from compat_tests.proxy.masks import Masks
from compat_tests.proxy.preparing import group_of, prepare, topic_of
from compat_tests.proxy.recorder import Asked, Recorder

Json = Any
AT_A_TIME: Final = 12
# What is asked after the answer: nobody waits for it.
LATE_SECONDS: Final = 0.2
SETTLING_SECONDS: Final = 0.1
_NUMBER: Final = re.compile(r"\{(now|past)([+-]\d+)?\}")
_NAME: Final = re.compile(r"\{(\w+)\}")


class Played:
    """One case on one proxy."""

    def __init__(self, case: Case, tag: str, caller: Caller, recorder: Recorder, port: int) -> None:
        self._case = case
        self._tag = tag
        self._caller = caller
        self._recorder = recorder
        self._known: dict[str, str] = {
            "topic": topic_of(tag),
            "group": group_of(tag),
            "client": f"{tag}c",
            "tag": tag,
            "broker": "broker-a",
        }
        self._port = port

    def play(self, masks: Masks) -> Json:
        """The outcome: an `error` is a step that did not bring what the case needs."""
        case, kind = self._case, self._case.topic.kind
        answers = []
        for step in case.before:
            found, ended = self._ask(step)
            answers.append(masks.answer(found, ended, kind))
            self._keep(step, found)
        if case.before:
            time.sleep(SETTLING_SECONDS)
        begin = len(self._recorder.asked)
        found, ended = self._ask(case.last)
        time.sleep(LATE_SECONDS)
        mine = [one for one in self._recorder.asked[begin:] if _concerns(one, self._tag)]
        return {
            "before": answers,
            "answer": masks.answer(found, ended, kind),
            "asked": [masks.request(one) for one in mine],
        }

    def _ask(self, step: Step) -> tuple[list[Json], Json]:
        given = {**METADATA, **step.metadata}
        metadata: Metadata = [
            (key, self._filled(value)) for key, value in given.items() if value is not None
        ]
        every = step.fields.get("commands", [step.fields])
        requests: list[Message] = [request_of(step.call, self._filled(one)) for one in every]
        found, ended = self._caller.call(step.call, requests, metadata, step.timeout)
        return [as_json(one) for one in found], ended

    def _keep(self, step: Step, found: Sequence[Json]) -> None:
        """The first answer that has it: an answer of ReceiveMessage is a stream."""
        for name, path in step.keep.items():
            values = [value for one in found if (value := _at(one, path)) is not None]
            if not values:
                raise LookupError(f"{step.call} brought no {path}: {found}")
            self._known[name] = values[0]
            if path.endswith("receipt_handle"):
                self._known |= handles(values[0], name)

    def _filled(self, value: Json) -> Json:
        if isinstance(value, str):
            if value == "{port}":
                return self._port
            if found := _NUMBER.fullmatch(value):
                return int(time.time()) + int(found[2] or 0)
            return _NAME.sub(lambda name: self._known.get(name[1], name[0]), value)
        if isinstance(value, Mapping):
            return {key: self._filled(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._filled(item) for item in value]
        return value


def handles(handle: str, name: str) -> dict[str, str]:
    """The same handle as others might make it."""
    parts = handle.split(" ")
    other_time = [*parts[:1], "1600000000000", *parts[2:]]
    return {
        f"{name}_short": " ".join(parts[:8]),
        f"{name}_shorter": " ".join(parts[:7]),
        f"{name}_expired": " ".join(other_time),
        f"{name}_elsewhere": " ".join([*parts[:5], "broker-z", *parts[6:]]),
        f"{name}_queue": " ".join([*parts[:6], "99", *parts[7:]]),
        f"{name}_offset": " ".join([*parts[:7], "9999", *parts[8:]]),
        f"{name}_words": " ".join([*parts[:7], "nine", *parts[8:]]),
        f"{name}_log": " ".join([*parts[:8], "99999999"]),
        f"{name}_log_words": " ".join([*parts[:8], "nine"]),
        f"{name}_more": f"{handle} 1",
    }


def _at(value: Json, path: str) -> Json:
    for key in path.split("."):
        if isinstance(value, list):
            value = value[int(key)] if int(key) < len(value) else None
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value


def _concerns(asked: Asked, tag: str) -> bool:
    """Whether it names something of the case: what a proxy asks for itself names none."""
    texts = [*asked.frame.ext.values(), asked.frame.body.decode("latin-1")]
    return any(tag in text for text in texts)


def play_all(
    cases: Sequence[Case], proxy: str, recorder: Recorder, broker: str, run: str
) -> dict[str, Json]:
    """By name. `broker`: the server itself."""
    tagged = [(f"{run}{number:03}", case) for number, case in enumerate(cases)]
    prepare(broker, tagged)
    masks = Masks(run, proxy, recorder)
    caller = Caller(proxy)
    port = int(proxy.rpartition(":")[2])

    def play(one: tuple[str, Case]) -> tuple[str, Json]:
        tag, case = one
        try:
            return case.name, Played(case, tag, caller, recorder, port).play(masks)
        except Exception as error:
            return case.name, {"error": f"{type(error).__name__}: {error}"}

    try:
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            return dict(pool.map(play, tagged))
    finally:
        caller.close()


def text_of(outcome: Json) -> str:
    return json.dumps(outcome, sort_keys=True)
