"""Settings seen and changed, and a mode that there is in name only."""

from collections.abc import Mapping
from typing import Any

import pytest

from trimq.codec.codes import ResponseCode
from trimq.processors.settings.get_broker_config import GetBrokerConfig
from trimq.processors.settings.set_commitlog_read_mode import SetCommitlogReadMode
from trimq.processors.settings.update_broker_config import UpdateBrokerConfig
from trimq.remoting.contract import RemotingError, Request
from trimq.remoting.testing import RecordingPeer, answer, answered


class Settings:
    """Refuses one key and one value, takes everything else."""

    version = '{"counter":1}'

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def text(self) -> str:
        return "a=1\n"

    async def update(self, values: Mapping[str, str]) -> str | None:
        if "0" in values.values():
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "a=0: must be at least 1")
        self.values |= values
        return "later" if "b" in values else None


def test_settings_as_text(broker: Any) -> None:
    answer = answered(GetBrokerConfig(Settings()), broker.request(26, None))
    assert (answer.header.version, answer.body) == ('{"counter":1}', b"a=1\n")


async def test_changing_settings(broker: Any) -> None:
    settings = Settings()
    processor = UpdateBrokerConfig(settings, Settings(), lambda peer: False)

    async def change(body: bytes) -> tuple[int, str | None]:
        try:
            response = await answer(processor, broker.request(25, None, body))
        except RemotingError as error:
            return error.code, error.remark
        return response.code, response.remark

    assert await change(b"") == (0, None)
    assert await change(b"a=2") == (0, None)
    assert await change(b"a=2\nb=3") == (0, "later")
    assert settings.values == {"a": "2", "b": "3"}
    assert await change(b"a=\\uZZZZ") == (ResponseCode.SYSTEM_ERROR, "string2Properties error")
    assert await change(b"a=0") == (ResponseCode.SYSTEM_ERROR, "a=0: must be at least 1")


async def test_who_is_on_this_host_changes_more(broker: Any) -> None:
    far, near = Settings(), Settings()
    for peer in (broker.peer, RecordingPeer("127.0.0.1:1")):
        processor = UpdateBrokerConfig(far, near, lambda peer: peer.remote_addr == "127.0.0.1:1")
        await answer(processor, Request(25, None, peer, b"a=%d" % peer.id, 513))
    assert (len(far.values), len(near.values)) == (1, 1)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"READ_AHEAD_MODE": "1"}, 0),
        ({"READ_AHEAD_MODE": "2"}, ResponseCode.INVALID_PARAMETER),
        ({"READ_AHEAD_MODE": "x"}, ResponseCode.SYSTEM_ERROR),
        ({}, ResponseCode.SYSTEM_ERROR),
    ],
)
def test_read_ahead_is_as_it_is(broker: Any, fields: dict[str, str], code: int) -> None:
    request = broker.request(2004, None)
    request.ext_fields = fields
    try:
        answer = broker.processor(SetCommitlogReadMode).handle(request).code
    except RemotingError as error:
        answer = error.code
    assert answer == code
