"""What ours may ask otherwise than the original, and how two outcomes are compared. Answers: docs/differences.py."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from compat_tests.comparing.java_exceptions import JAVA_EXCEPTION, PLACEHOLDER
from compat_tests.comparing.normalise import differences

Json = Any

# A status whose text tells of the original's own source, or of Java: ours has a text of its own.
_PLACE_IN_SOURCE: Final = re.compile(r"\(\w+\.java:\d+\)|No enum constant ")
_OWN_EXCEPTION: Final = "org.apache.rocketmq.proxy.common.ProxyException: "


def without_java(value: Json) -> Json:
    """Texts that name places in a Java source are replaced: they are of one JDK and one version."""
    if isinstance(value, dict):
        return {key: without_java(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_java(item) for item in value]
    return PLACEHOLDER if isinstance(value, str) and is_java(value) else value


def is_java(text: str) -> bool:
    if text.startswith(_OWN_EXCEPTION):
        return False
    return bool(_PLACE_IN_SOURCE.search(text) or JAVA_EXCEPTION.match(text))


def in_own_words(real: Json, ours: Json) -> Json:
    """Ours, with a text of its own where the original's was Java's."""
    if real == PLACEHOLDER and isinstance(ours, str) and ours:
        return PLACEHOLDER
    if isinstance(real, dict) and isinstance(ours, dict):
        return {
            key: in_own_words(real[key], item) if key in real else item
            for key, item in ours.items()
        }
    if isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours):
        return [in_own_words(*pair) for pair in zip(real, ours, strict=True)]
    return ours


def answered_otherwise(real: Json, ours: Json) -> list[str]:
    """What is different in the answers to a case's calls."""
    parts = ("before", "answer")
    own = {part: in_own_words(real[part], ours[part]) for part in parts}
    return list(differences({part: real[part] for part in parts}, own))


@dataclass(frozen=True)
class Allowed:
    """A difference between requests. `of`: what becomes of one before comparing; None: it does not count."""

    why: str
    of: Callable[[Json], Json | None]


def _dropped(code: int, **ext: str) -> Callable[[Json], Json | None]:
    def of(request: Json) -> Json | None:
        is_it = request["code"] == code and ext.items() <= request["ext"].items()
        return None if is_it else request

    return of


def _without(code: int, *fields: str) -> Callable[[Json], Json | None]:
    def of(request: Json) -> Json | None:
        if request["code"] != code:
            return request
        ext = {key: value for key, value in request["ext"].items() if key not in fields}
        return {**request, "ext": ext}

    return of


# Of a topic that is not there the original asks again after 20 s only, and does not see when it is made meanwhile.
_ROUTE: Final = 105
_SYNCER: Final = "DefaultHeartBeatSyncerTopic"
ALLOWED: Final = (
    Allowed(
        "proxies of the original's kind tell each other of their clients by a topic's messages; ours tells brokers",
        _dropped(310, b=_SYNCER),
    ),
    Allowed("the same topic's configuration", _dropped(351, topic=_SYNCER)),
    Allowed("and its route", _dropped(105, topic=_SYNCER)),
    Allowed("TriMQ's brokers are told who the proxy's clients are", _dropped(990006)),
    Allowed(
        "brokers hear of producers of transactions at once; the original's tell them by the clock, of all together",
        _dropped(34),
    ),
)


def asked_otherwise(real: Json, ours: Json) -> list[str]:
    """What is different in the requests that count."""
    return list(differences(real["asked"], ours["asked"]))


def that_count(requests: list[Json]) -> list[Json]:
    """In an order of their own: some are made side by side."""
    kept = []
    for request in requests:
        seen: Json | None = request
        for allowed in ALLOWED:
            seen = seen and allowed.of(seen)
        if seen and not (seen["code"] == _ROUTE and seen in kept):
            kept.append(seen)
    return sorted(kept, key=lambda one: (one["code"], repr(sorted(one["ext"].items(), key=str))))
