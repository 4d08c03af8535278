"""Clients that break the rules, against a whole server: everybody else is served on."""

import json
import os
import random
import socket
import struct
from collections.abc import Iterator

import pytest

from bench.servers.process import usage
from tests.requests import send_header
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.remoting.clients.blocking import BlockingClient
from trimq.store.errors import StoreError
from trimq.testing import TestServer, running_server

FRAMES = 400
CONNECTIONS = 1000
HELD = 400


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestServer]:
    with running_server(tmp_path_factory.mktemp("hostile")) as running:
        yield running


def _connect(server: TestServer) -> socket.socket:
    host, port = server.broker_addr.split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def _send_all(server: TestServer, raw: bytes) -> None:
    """And read until the server has ended the connection."""
    with _connect(server) as sock:
        sock.sendall(raw)
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(65536):
            pass


def _frame(header: object, body: bytes = b"", coding: int = 0) -> bytes:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    inside = struct.pack(">I", coding << 24 | len(raw)) + raw + body
    return struct.pack(">I", len(inside)) + inside


def _assert_others_are_served(server: TestServer) -> None:
    _send(server, "Hostile", b"still there")


def _send(server: TestServer, topic: str, body: bytes) -> None:
    header = send_header(topic)
    with BlockingClient(server.broker_addr, timeout=20) as client:
        answer = client.request(RequestCode.SEND_MESSAGE, header, body)
    assert answer.code == ResponseCode.SUCCESS, answer.remark


@pytest.mark.parametrize("seed", range(8))
def test_random_bytes(server: TestServer, seed: int, times: int) -> None:
    source = random.Random(seed)
    for _ in range(FRAMES // 8 * times):
        with _connect(server) as sock:
            sock.sendall(source.randbytes(source.randrange(1, 2000)))
    _assert_others_are_served(server)


@pytest.mark.parametrize("seed", range(8))
def test_damaged_requests_of_every_code(server: TestServer, seed: int, times: int) -> None:
    """Right frames with wrong insides: answered, refused or cut off, never the end of the server."""
    source = random.Random(seed)
    values = [
        None,
        "",
        "x",
        "-1",
        "99999999999999999999",
        7,
        [],
        {},
        "true",
        "\u0001\u0002",
        "%RETRY%",
    ]
    names = [
        "topic",
        "queueId",
        "consumerGroup",
        "group",
        "properties",
        "a",
        "b",
        "e",
        "i",
        "offset",
    ]
    codes = [int(code) for code in RequestCode]
    for _ in range(FRAMES // 8 * times):
        fields = {name: source.choice(values) for name in source.sample(names, 5)}
        header = {"code": source.choice(codes), "opaque": 1, "version": 513, "extFields": fields}
        raw = bytearray(_frame(header, source.randbytes(source.randrange(200))))
        for _ in range(source.randrange(3)):
            raw[source.randrange(8, len(raw))] = source.randrange(256)
        _send_all(server, raw)
    _assert_others_are_served(server)


@pytest.mark.parametrize(
    "raw",
    [
        struct.pack(">i", -1),
        struct.pack(">I", 16 * 1024 * 1024 + 1),
        struct.pack(">II", 8, 0x00FFFFFF) + b"{}{}",
        struct.pack(">II", 4, 0x05000000),
        _frame(b"\xff\xfe not json"),
        _frame(b'{"code":"ten","opaque":[]}'),
        _frame(b'{"code":10,"extFields":{"\xff":"x"}}'),
        _frame(b"\x00\x0a\x00", coding=1),
        _frame(struct.pack(">hBhiiii", 10, 0, 513, 1, 0, 0, 0x7FFFFFFF), coding=1),
    ],
    ids=lambda raw: raw[:16].hex(),
)
def test_frames_that_lie(server: TestServer, raw: bytes) -> None:
    _send_all(server, raw)
    _assert_others_are_served(server)


def test_a_frame_in_single_bytes_is_a_frame(server: TestServer) -> None:
    raw = _frame({"code": 305, "opaque": 9, "version": 513})
    with _connect(server) as sock:
        for at in range(len(raw)):
            sock.sendall(raw[at : at + 1])
        assert b'"opaque":9' in sock.recv(65536)


def test_a_client_that_never_reads_does_not_fill_the_memory(server: TestServer) -> None:
    """It asks for big answers and never takes one: the server stops listening to it."""
    ask = _frame({"code": int(RequestCode.GET_ALL_TOPIC_CONFIG), "opaque": 1, "version": 513})
    with _connect(server) as sock:
        sock.settimeout(1)
        before = usage(os.getpid()).anonymous_mib
        with pytest.raises(TimeoutError):
            sock.sendall(ask * 200_000)
        _assert_others_are_served(server)
        assert usage(os.getpid()).anonymous_mib - before < 60


def test_held_pulls_of_a_client_that_never_reads_do_not_fill_the_memory(server: TestServer) -> None:
    _send(server, "Held", b"first")
    pull = _frame(
        {
            "code": int(RequestCode.PULL_MESSAGE),
            "opaque": 1,
            "version": 513,
            "extFields": {
                "consumerGroup": "g",
                "topic": "Held",
                "queueId": "0",
                "queueOffset": "1",
                "maxMsgNums": "1",
                "sysFlag": "6",
                "commitOffset": "0",
                "suspendTimeoutMillis": "15000",
                "subscription": "*",
                "subVersion": "0",
            },
        }
    )
    with _connect(server) as sock:
        # Requests are taken up in order: when the last one is answered, all pulls are held.
        sock.sendall(pull * HELD + _frame({"code": 305, "opaque": 9, "version": 513}))
        assert b'"opaque":9' in sock.recv(65536)
        before = usage(os.getpid()).anonymous_mib
        _send(server, "Held", bytes(1024 * 1024))
        _assert_others_are_served(server)
        assert usage(os.getpid()).anonymous_mib - before < 40


def test_a_thousand_connections_come_and_go(server: TestServer, times: int) -> None:
    before = usage(os.getpid()).anonymous_mib
    for _ in range(CONNECTIONS * times):
        _connect(server).close()
    _assert_others_are_served(server)
    assert usage(os.getpid()).anonymous_mib - before < 30


def test_two_servers_of_one_store_are_refused(server: TestServer) -> None:
    with pytest.raises(StoreError, match=r"in use|locked|running"), running_server(server.store):
        pass
    _assert_others_are_served(server)
