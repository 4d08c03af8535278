"""A disk that fills up in the middle of a record, while the broker serves."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from tests.trimq.serving.asks import max_offset, send
from trimq.codec.codes import ResponseCode
from trimq.testing import running_server


@pytest.mark.parametrize("room", [0, 1, 90, 100])
def test_a_send_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """The producer is told, nothing of its message is left, and sends go on when there is room."""
    real = os.pwritev
    left = [1 << 30]

    def limited(fd: int, chunks: list[bytes], position: int, *more: Any) -> int:
        if "/commitlog/" not in os.readlink(f"/proc/self/fd/{fd}"):
            return real(fd, chunks, position, *more)
        data = b"".join(chunks)[: left[0]]
        if not data:
            raise OSError(errno.ENOSPC, "No space left on device")
        left[0] -= len(data)
        return real(fd, [data], position, *more)

    monkeypatch.setattr(os, "pwritev", limited)
    with running_server(tmp_path) as server:
        assert send(server.broker_addr).code == ResponseCode.SUCCESS
        left[0] = room
        for _ in range(3):
            answer = send(server.broker_addr)
            assert answer.code == ResponseCode.SERVICE_NOT_AVAILABLE, answer.remark
            left[0] = room
        assert max_offset(server.broker_addr) == 1
        left[0] = 1 << 30
        assert send(server.broker_addr).code == ResponseCode.SUCCESS
        assert max_offset(server.broker_addr) == 2
    with running_server(tmp_path) as server:
        assert max_offset(server.broker_addr) == 2
