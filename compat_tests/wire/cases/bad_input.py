"""Unknown codes and broken frames: what is answered, what closes the connection."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any, Final

from compat_tests.wire import frames, reading
from compat_tests.wire.asks import ask, changed, create_topic, lock, pull, send
from compat_tests.wire.case import Case, in_binary, row
from compat_tests.wire.frames import BINARY_CODING, JSON_CODING, Frame
from compat_tests.wire.link import Closed, NoReply
from compat_tests.wire.stage import Stage

HEADER: Final = {
    "code": 38,
    "extFields": {"consumerGroup": "nobody"},
    "flag": 0,
    "language": "JAVA",
    "opaque": 77,
    "serializeTypeCurrentRPC": "JSON",
    "version": 513,
}
MIB16: Final = 16 << 20
UNKNOWN: Final = (0, 1, 13, 16, 22, 27, 47, 209, 301, 9999, 32767, 40000, 200072, -1, -2147483648)
OF_THE_NAMESRV: Final = (100, 103, 105, 106, 205, 206, 322, 904)
NOT_ON_THE_FAST_PORT: Final = (11, 361, 200050, 200052, 200054, 200055)


def cases() -> Iterator[Case]:
    yield from codes()
    yield from headers()
    yield from broken_frames()
    yield from binary_headers()
    yield from replies_out_of_order()


def codes() -> Iterator[Case]:
    for code in (*UNKNOWN, *OF_THE_NAMESRV):
        yield row(f"broker: request code {code}", ask(code, {"topic": "$T"}))
    for code in (0, 9999, -1):
        yield in_binary(f"broker: request code {code}", ask(code, {"topic": "$T"}))
    for code in NOT_ON_THE_FAST_PORT:
        yield row(f"fast port: request code {code}", ask(code, {"topic": "$T"}), on="fast")
    # Everything that is there answers something else than 3, even without a single field.
    for code in (10, 310, 320, 36, 14, 15, 29, 30, 31, 32, 33, 35, 38, 17, 21, 43, 45, 215, 351):
        yield there(code)

    def oneway(stage: Stage) -> None:
        link = stage.link()
        opaque = link.post_oneway(ask(9999))
        stage.show("the next one", ask(38, {"consumerGroup": "nobody"}))
        stage.record("answered", link.has_reply(opaque, 0.2))

    yield Case("broker: unknown request code, one way", oneway)


def there(code: int) -> Case:
    def play(stage: Stage) -> None:
        stage.record("code", stage.ask(ask(code), "fast").code)

    return Case(f"fast port: request code {code} is there", play)


def probe(stage: Stage, data: bytes, on: str, opaque: int = 77) -> None:
    """Send raw bytes; is there an answer, and does the connection live on?"""
    link = stage.link(on)
    try:
        link.write(data)
        answer: Any = None
        if link.has_reply(opaque, 0.5):
            answer = reading.reply(link.reply(opaque), reading.as_json)
        known = {"consumerGroup": "nobody", "topic": "nothing"}
        code = link.ask(ask(38 if on == "broker" else 105, known), 2).code
        stage.record("answer, and that to the next request", [answer, code])
    except Closed:
        stage.record("connection", "closed")
    except NoReply:
        stage.record("connection", "no answer to the next request")


def raw(name: str, data: bytes, on: str = "broker") -> Case:
    return Case(f"{on}: {name}", lambda stage: probe(stage, data, on))


def json_frame(header: Any, body: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return frames.with_lengths(text, body, JSON_CODING)


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in HEADER.items() if key != name}


def headers() -> Iterator[Case]:
    for name in HEADER:
        if name == "opaque":
            continue
        yield raw(f"header without {name}", json_frame(without(name)))
    odd: dict[str, dict[str, Any]] = {
        "code a text": {"code": "38"},
        "code no number": {"code": "x"},
        "code null": {"code": None},
        "flag a text": {"flag": "0"},
        "flag of a reply": {"flag": 1},
        "flag with unknown bits": {"flag": 4},
        "unknown language": {"language": "ELVISH"},
        "language a number": {"language": 9},
        "version a text": {"version": "513"},
        "version huge": {"version": 99999},
        "version negative": {"version": -1},
        "fields null": {"extFields": None},
        "fields a text": {"extFields": "x"},
        "fields a list": {"extFields": []},
        "a field a number": {"extFields": {"consumerGroup": 5}},
        "a field null": {"extFields": {"consumerGroup": None}},
        "a field an object": {"extFields": {"consumerGroup": {"a": 1}}},
        "a remark": {"remark": "hello"},
        "a key nobody knows": {"surprise": [1, {"a": None}]},
        "unknown serialize type": {"serializeTypeCurrentRPC": "ELVISH"},
        "binary serialize type": {"serializeTypeCurrentRPC": "ROCKETMQ"},
    }
    for what, values in odd.items():
        yield raw(f"header, {what}", json_frame({**HEADER, **values}))
    yield raw("header no JSON", json_frame(b"nonsense"))
    yield raw("header empty", json_frame(b""))
    yield raw("header an empty object", json_frame(b"{}"), "broker")
    yield raw("header null", json_frame(b"null"))
    yield raw("header a list", json_frame(b"[]"))
    yield raw("header not UTF-8", json_frame(b'{"code":38,"opaque":77,"remark":"\xff\xfe"}'))
    yield raw("header with blanks", json_frame(json.dumps(HEADER, indent=2).encode()))
    single = json.dumps(HEADER).replace('"', "'").encode()
    yield raw("header in single quotes", json_frame(single))


def broken_frames() -> Iterator[Case]:
    good = json_frame(HEADER)
    for on in ("broker", "namesrv"):
        yield raw("frame of length 0", struct.pack(">i", 0) + good, on)
        yield raw("frame of length 3", struct.pack(">i", 3) + b"abc" + good, on)
        yield raw("frame of length 4, header 0", struct.pack(">ii", 4, 0), on)
        yield raw("frame of length -1", struct.pack(">i", -1) + good, on)
        yield raw("frame over 16 MiB", struct.pack(">i", MIB16 + 1) + good[4:], on)
        yield raw("header longer than the frame", struct.pack(">ii", 20, 1000) + b"x" * 16, on)
        yield raw("serialize type 2", good[:4] + b"\x02" + good[5:], on)
        yield raw("serialize type 255", good[:4] + b"\xff" + good[5:], on)
        yield raw("random bytes", bytes(range(1, 200)), on)
        yield raw("HTTP", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", on)
        yield raw("half a frame, then the rest", good, on)

    def pieces(stage: Stage) -> None:
        link = stage.link()
        for byte in good:
            link.write(bytes([byte]))
        stage.record("answer", reading.reply(link.reply(77), reading.as_json))

    yield Case("broker: a frame byte by byte", pieces)

    def large(stage: Stage) -> None:
        stage.must(create_topic())
        stage.show("just under the frame limit", send(b"x" * (MIB16 - 2000)))

    yield Case("broker: a frame just under the limit", large)

    def unasked(stage: Stage) -> None:
        link = stage.link()
        link.write(frames.encode(Frame(0, opaque=4711, flag=1, remark="unasked")))
        stage.show("the next request", ask(38, {"consumerGroup": "nobody"}))

    yield Case("broker: a reply nobody waits for", unasked)


def binary_headers() -> Iterator[Case]:
    good = Frame(38, opaque=77, ext={"consumerGroup": "nobody"}, coding=BINARY_CODING)
    whole = frames.encode(good)[8:]
    ext_at = 2 + 1 + 2 + 4 + 4 + 4

    def binary(name: str, header: bytes) -> Case:
        return raw(f"binary header, {name}", frames.with_lengths(header, b"", BINARY_CODING))

    yield binary("good", whole)
    yield binary("cut in its fixed part", whole[:10])
    yield binary("cut in its fields", whole[:-3])
    yield binary("bytes behind it", whole + b"abc")
    yield binary("remark length negative", whole[:13] + struct.pack(">i", -1) + whole[17:])
    yield binary("remark length huge", whole[:13] + struct.pack(">i", 1 << 30) + whole[17:])
    yield binary("field length huge", whole[:ext_at] + struct.pack(">i", 1 << 30) + whole[21:])
    yield binary("field length 0", whole[:ext_at] + struct.pack(">i", 0))
    yield binary("key length huge", whole[:21] + struct.pack(">h", 30000) + whole[23:])
    yield binary("key length negative", whole[:21] + struct.pack(">h", -1) + whole[23:])
    yield binary("unknown language", whole[:2] + b"\x63" + whole[3:])
    yield binary("empty", b"")


def replies_out_of_order() -> Iterator[Case]:
    def pipelined(stage: Stage) -> None:
        stage.must(create_topic())
        link = stage.link()
        sends = [stage.request(send(b"%d" % number)) for number in range(20)]
        opaques = link.post_together(sends)
        offsets = [int(link.reply(opaque).ext["queueOffset"]) for opaque in opaques]
        stage.record("all stored", sorted(offsets))

    yield Case("broker: many sends in one write", pipelined)

    def overtaking(stage: Stage) -> None:
        stage.must(create_topic())
        link = stage.link()
        held = pull(sysFlag=6, suspendTimeoutMillis=15000)
        first = link.post(stage.request(held))
        stage.show("asked behind a held pull", changed(send(), properties=""))
        stage.record("the held pull", link.reply(first).code)
        stage.show("a lock as well", lock(0))

    yield Case("broker: replies overtake a held pull", overtaking)
