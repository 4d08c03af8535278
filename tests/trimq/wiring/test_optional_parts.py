"""A broker without one of its features: the line is out of the list, and everything else goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from trimq.codec.codes import RequestCode, ResponseCode
from trimq.remoting.clients.blocking import BlockingClient
from trimq.testing import running_server
from trimq.wiring import broker as broker_wiring
from trimq.wiring.common import Common
from trimq.wiring.context import Context
from trimq.wiring.part import Part

# Without one of these, messages come and go all the same. A part has processors, or none that it could refuse with.
OPTIONAL: Final = (
    *("assignment", "cluster", "compaction", "delays", "elastic", "filters", "lite", "messages"),
    *("pop", "progress", "replication", "retention", "settings", "siblings", "stats", "timers"),
    "transactions",
)


@pytest.fixture(params=OPTIONAL)
def codes_of_missing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The codes of a part that is left out; filled when a broker is built."""
    codes: list[int] = []
    whole = broker_wiring.broker_parts

    def without(context: Context, common: Common) -> list[Part]:
        parts = whole(context, common)
        (missing,) = [part for part in parts if part.name == request.param]
        for processor in (*missing.processors, *missing.main_port_only):
            codes.extend(processor.codes)
        return [part for part in parts if part is not missing]

    monkeypatch.setattr(broker_wiring, "broker_parts", without)
    return codes


def test_messages_come_and_go_and_its_codes_are_refused(
    tmp_path: Path, codes_of_missing: list[int]
) -> None:
    with running_server(tmp_path) as server:
        server.send("T", b"x")
        assert [message.body for message in server.messages("T")] == [b"x"]
        with BlockingClient(server.broker_addr) as client:
            for code in codes_of_missing:
                answer = client.request(code)
                assert answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED, RequestCode(code)
