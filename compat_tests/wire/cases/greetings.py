"""How a connection begins: TLS without any setting, a balancer's PROXY preamble, both."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from typing import Final

from compat_tests.wire import reading
from compat_tests.wire.asks import ask, consumer, heartbeat, pull, send, subscription
from compat_tests.wire.case import Case
from compat_tests.wire.link import Closed, NoReply
from compat_tests.wire.stage import Stage

SIGNATURE: Final = b"\r\n\r\n\x00\r\nQUIT\n"
CONSUMERS: Final = ask(203, {"consumerGroup": "$G"})
ROUTE: Final = ask(105, {"topic": "nothing"})
LINE: Final = b"PROXY TCP4 192.0.2.1 192.0.2.9 56324 10911\r\n"


def binary(command: int = 0x21, port: int = 56324, more: bytes = b"") -> bytes:
    addresses = socket.inet_aton("192.0.2.1") + socket.inet_aton("192.0.2.9")
    rest = addresses + struct.pack("!HH", port, 10911) + more
    return SIGNATURE + struct.pack("!BBH", command, 0x11, len(rest)) + rest


IPV6: Final = socket.inet_pton(socket.AF_INET6, "2001:db8::1") * 2
# An extension: type, length, value (the name that a client asked for).
EXTENSION: Final = b"\x02\x00\x06broker"
TOLD: Final = {
    "a line of IPv6": b"PROXY TCP6 2001:db8::1 2001:db8::2 7 10911\r\n",
    "binary of IPv6": SIGNATURE
    + struct.pack("!BBH", 0x21, 0x21, 36)
    + IPV6
    + struct.pack("!HH", 7, 8),
    "a line": LINE,
    "binary": binary(),
    "binary with an extension": binary(more=EXTENSION),
}
NOT_TOLD: Final = {
    "a line of IPv6": b"PROXY TCP6 2001:db8::1 2001:db8::2 7 10911\r\n",
    "binary of IPv6": SIGNATURE
    + struct.pack("!BBH", 0x21, 0x21, 36)
    + IPV6
    + struct.pack("!HH", 7, 8),
    "a line without an address": b"PROXY UNKNOWN\r\n",
    "binary without a port": binary(port=0),
    "binary, the balancer's own": binary(command=0x20),
}
BROKEN: Final = {
    "a line with port 0": b"PROXY TCP4 192.0.2.1 192.0.2.9 0 10911\r\n",
    "a line without ports": b"PROXY TCP4 192.0.2.1 192.0.2.9\r\n",
    "a line with a wrong address": b"PROXY TCP4 192.0.2.300 192.0.2.9 56324 10911\r\n",
    "a line too long": b"PROXY TCP4 " + b"1" * 200 + b"\r\n",
    "binary of another version": binary(command=0x11),
    "binary with too few addresses": SIGNATURE + struct.pack("!BBH", 0x21, 0x11, 4) + b"1234",
}


def cases() -> Iterator[Case]:
    for on in ("broker", "fast", "namesrv"):
        yield opened(f"TLS without settings: {on}", on, b"", tls=True)
        for name, preamble in TOLD.items():
            yield opened(f"PROXY preamble: {name}, {on}", on, preamble)
        yield opened(f"PROXY preamble: TLS behind it, {on}", on, LINE, tls=True)
    for name, preamble in (TOLD | NOT_TOLD).items():
        yield client_of(f"PROXY preamble: whose connection it is, {name}", preamble)
    for name, preamble in BROKEN.items():
        yield broken(f"PROXY preamble: {name}", preamble)
    yield Case("PROXY preamble: where a message was born", born)


def opened(name: str, on: str, preamble: bytes, tls: bool = False) -> Case:
    """Requests are answered behind it."""

    def play(stage: Stage) -> None:
        stage.open(on, preamble, tls)
        question = ROUTE if on == "namesrv" else ask(38, {"consumerGroup": "nobody"})
        stage.record("code", stage.ask(question, on).code)

    return Case(name, play)


def client_of(name: str, preamble: bytes) -> Case:
    """What the list of a group's members says of one that came this way."""

    def play(stage: Stage) -> None:
        stage.open("broker", preamble)
        stage.must(heartbeat(consumer("$G", subscription())))
        stage.show("members", CONSUMERS)

    return Case(name, play)


def broken(name: str, preamble: bytes) -> Case:
    def play(stage: Stage) -> None:
        stage.open("broker", preamble)
        try:
            stage.record("code", stage.link().ask(ask(38, {"consumerGroup": "nobody"}), 3).code)
        except (Closed, OSError):
            stage.record("connection", "closed")
        except NoReply:
            stage.record("connection", "no answer")

    return Case(name, play)


def born(stage: Stage) -> None:
    """At the balancer's address: the preamble is not for records."""
    stage.open("broker", LINE)
    stage.must(send())
    stage.show("records", pull(), reading.as_records)
