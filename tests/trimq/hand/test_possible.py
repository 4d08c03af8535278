"""Faults that can never hit are refused, and of others it is said how often they hit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.trimq.hand.faulty import TOPIC, faulty
from trimq.hand.faults.possible import Asked
from trimq.hand.faults.requests import FAMILIES, codes_of
from trimq.hand.faults.rules import Match
from trimq.hand.operation import HandError

NEVER: list[tuple[str, dict[str, Any], str]] = [
    ("fail", {"code": 2, "topic": ""}, "topic is empty"),
    ("fail", {"code": 2, "requests": "REGISTER_BROKER"}, "say side=namesrv"),
    ("fail", {"code": 2, "requests": "sends", "side": "namesrv"}, "say side=broker"),
    ("fail", {"code": 2, "requests": "routes", "side": "broker"}, "say side=namesrv"),
    ("fail", {"code": 2, "requests": ["sends", "routes"]}, "never asked routes: .*side=namesrv"),
    ("fail", {"code": 2, "requests": "CONTROLLER_ELECT_MASTER"}, "no client sends them here"),
    ("fail_next", {"code": 2, "sends": 1, "routes": 1, "group": "G"}, "no group stands in routes"),
    ("fail", {"code": 2, "requests": "GET_BROKER_CONFIG", "topic": "T"}, "leave topic=T out"),
    ("lose_answer", {"requests": "UNREGISTER_CLIENT", "topic": "T"}, "no topic stands in"),
]

MAY_COME: list[dict[str, Any]] = [
    {"requests": "all", "topic": "T", "group": "G"},
    *({"requests": family, "topic": "T"} for family in FAMILIES),
    *({"requests": family, "group": "G"} for family in FAMILIES if family != "routes"),
    {"requests": "SEND_MESSAGE_V2", "topic": "T", "group": "G"},
    {"requests": ["LOCK_BATCH_MQ", "sends"], "topic": "T", "group": "G"},
    {"requests": "all", "side": "namesrv", "topic": "T"},
    {"requests": "UNREGISTER_CLIENT", "group": "G"},
    {"requests": "GET_BROKER_CONFIG", "client": "not-connected-yet"},
]


async def test_what_never_comes_is_refused(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        for path, words, says in NEVER:
            with pytest.raises(HandError, match=says):
                await it.ask(path, **words)
        assert await it.ask("list") == []


async def test_what_may_come_is_awaited(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        for words in MAY_COME:
            await it.ask("fail", code="SYSTEM_BUSY", **words)
        assert await it.hits() == [0] * len(MAY_COME)


def test_a_server_without_a_name_server_is_asked_no_routes() -> None:
    asked = Asked()
    asked.attach("broker", [])
    with pytest.raises(HandError, match="no NameServer of its own"):
        asked.check("routes", Match(codes_of("routes"), side="namesrv"))


async def test_which_faults_have_never_hit(tmp_path: Path) -> None:
    """What a test asserts at its end."""
    async with faulty(tmp_path) as it:
        await it.ask("fail_next", sends=1, code="SYSTEM_BUSY", topic=TOPIC)
        await it.ask("fail_next", sends=1, code="SYSTEM_BUSY", topic="Misspelt")
        await it.send()
        shown = await it.ask("list")
        assert [(one["topic"], one["hits"], one["left"]) for one in shown] == [
            (TOPIC, 1, 0),
            ("Misspelt", 0, 1),
        ]
