"""mqadmin and brokers that lie: it ends with a sentence, and keeps little."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.run.mqadmin import run_mqadmin
from trimq.codec.bodies.register import RegisterBrokerBody, encode_register
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode
from trimq.codec.frames.command import RemotingCommand, decode_command, encode_command
from trimq.codec.frames.frame import FrameBuffer
from trimq.codec.headers.namesrv import RegisterBrokerRequestHeader
from trimq.codec.java.moments import compact_time, local_seconds, local_time
from trimq.remoting.clients.blocking import BlockingClient
from trimq.testing import TestServer, running_server

HUGE = 2**31 - 1
STUCK = "Stuck"


def _answer(request: RemotingCommand) -> RemotingCommand:
    """Ten messages, of which a pull never gets to the second."""
    fields = {
        RequestCode.GET_MIN_OFFSET: {"offset": "0"},
        RequestCode.GET_MAX_OFFSET: {"offset": "10"},
        RequestCode.PULL_MESSAGE: {
            "nextBeginOffset": "0",
            "minOffset": "0",
            "maxOffset": "10",
            "suggestWhichBrokerId": "0",
        },
    }[RequestCode(request.code)]
    return RemotingCommand(code=0, flag=1, opaque=request.opaque, ext_fields=fields)


def _serve(connection: socket.socket) -> None:
    frames = FrameBuffer()
    with connection:
        while data := connection.recv(65536):
            frames.feed(data)
            while (frame := frames.next_frame()) is not None:
                connection.sendall(encode_command(_answer(decode_command(frame))))


@contextmanager
def _lying_broker() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=_serve, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    body = RegisterBrokerBody()
    topics = body.topic_config_serialize_wrapper.topic_config_table
    topics["Huge"] = TopicConfig(topic_name="Huge", read_queue_nums=HUGE, write_queue_nums=HUGE)
    topics[STUCK] = TopicConfig(topic_name=STUCK, read_queue_nums=1, write_queue_nums=1)
    with _lying_broker() as addr, running_server() as started:
        header = RegisterBrokerRequestHeader(
            broker_name="liar", broker_addr=addr, cluster_name="DefaultCluster", broker_id=0
        )
        # It is registered as long as this connection is open.
        with BlockingClient(started.namesrv_addr) as registered:
            wire = encode_register(body, compressed=False)
            assert registered.request(RequestCode.REGISTER_BROKER, header, wire).code == 0
            yield started


@pytest.mark.parametrize(
    "words",
    [
        ("tail", "Huge"),
        ("printMsg", "-t", "Huge"),
        ("consumeMessage", "-t", "Huge"),
        ("sendMessage", "-t", "Huge", "-p", "body"),
    ],
)
def test_two_thousand_million_queues_are_not_believed(
    server: TestServer, words: tuple[str, ...]
) -> None:
    done = run_mqadmin(*words, NAMESRV_ADDR=server.namesrv_addr)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert f"claims to have {HUGE} queues of a topic" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("printMsg", "-t", STUCK),
        ("printMsgByQueue", "-t", STUCK, "-a", "liar", "-i", "0", "-p", "true"),
        ("consumeMessage", "-t", STUCK),
        ("consumeMessage", "-t", STUCK, "-b", "liar", "-i", "0"),
    ],
)
def test_an_offset_that_does_not_move_is_the_end(
    server: TestServer, words: tuple[str, ...]
) -> None:
    done = run_mqadmin(*words, NAMESRV_ADDR=server.namesrv_addr)
    assert done.returncode == 1
    assert "says to go on at 0: given up" in done.stderr


@pytest.mark.parametrize(
    "millis", [-(2**63) - 1, -(2**63), -1, 0, 253_402_300_800_000, 2**63 - 1, 2**70]
)
def test_any_time_can_be_said(millis: int) -> None:
    for text in (local_time(millis), local_seconds(millis), compact_time(millis)):
        assert text[:4].isdigit()


def test_the_last_time_of_java_is_said_as_java_says_it() -> None:
    assert local_time(2**63 - 1).startswith("292278994-08-17 ")
