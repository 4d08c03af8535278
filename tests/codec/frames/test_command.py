import json
import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.codes import LanguageCode
from trimq.codec.errors import CodecError, HeaderTooLarge
from trimq.codec.frames.command import (
    JSON,
    ROCKETMQ,
    RemotingCommand,
    decode_command,
    encode_command,
    encode_head,
)
from trimq.codec.java.fastjson import dumps
from trimq.codec.layouts.frame import FRAME

INT16 = st.integers(-(2**15), 2**15 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SOME_TEXT = TEXT.filter(bool)


def commands(coding: int) -> st.SearchStrategy[RemotingCommand]:
    """What the coding can tell: the binary one has no empty values and a 16-bit code."""
    return st.builds(
        RemotingCommand,
        code=INT16 if coding == ROCKETMQ else INT32,
        opaque=INT32,
        flag=INT32,
        remark=st.none() | (SOME_TEXT if coding == ROCKETMQ else TEXT),
        ext_fields=st.dictionaries(TEXT, SOME_TEXT if coding == ROCKETMQ else TEXT, max_size=6),
        body=st.binary(max_size=40),
        coding=st.just(coding),
        language=st.sampled_from([int(language) for language in LanguageCode]),
        version=INT16,
    )


FIELDS = (
    "code",
    "opaque",
    "flag",
    "remark",
    "ext_fields",
    "body",
    "coding",
    "language",
    "version",
)


def fields(command: RemotingCommand) -> dict[str, object]:
    return {name: getattr(command, name) for name in FIELDS}


@given(command=commands(ROCKETMQ).filter(lambda command: "" not in command.ext_fields))
def test_the_binary_fast_path_equals_its_declaration(command):
    declared = FRAME.build(
        {
            "coding": ROCKETMQ,
            "header": {
                "code": command.code,
                "language": command.language,
                "version": command.version,
                "opaque": command.opaque,
                "flag": command.flag,
                "remark": command.remark or "",
                "ext_fields": [
                    {"key": key, "value": value} for key, value in command.ext_fields.items()
                ],
            },
            "body": command.body,
        }
    )
    assert encode_command(command) == declared
    assert fields(decode_command(declared[4:])) == fields(command)


@given(command=commands(JSON))
def test_json_headers_come_back_as_they_went(command):
    frame = encode_command(command)
    assert fields(decode_command(frame[4:])) == fields(command)
    declared = FRAME.parse(frame)
    assert list(json.loads(declared.header)) == sorted(json.loads(declared.header))
    assert declared.body == command.body


@given(command=commands(JSON) | commands(ROCKETMQ))
def test_the_head_leaves_room_for_a_body_that_follows(command):
    assert encode_head(command, len(command.body)) + command.body == encode_command(command)


def without_what_means_nothing(frame: bytes) -> bytes:
    """The frame as a peer understands it.

    An empty JSON map says no more than none, and Java reads an empty binary value as null.
    """
    parsed = FRAME.parse(frame)
    if parsed.coding == JSON:
        parsed.header = parsed.header.replace(b'"extFields":{},', b"")
    else:
        parsed.header.ext_fields = [field for field in parsed.header.ext_fields if field.value]
    return FRAME.build(parsed)


def test_golden_frames_leave_as_they_came(golden_frame):
    command = decode_command(golden_frame[4:])
    if command.coding == JSON:
        keys = list(json.loads(FRAME.parse(golden_frame).header))
        if keys != sorted(keys):
            # Not Java's own writing: the recorder made this one by hand.
            assert fields(decode_command(encode_command(command)[4:])) == fields(command)
            return
    assert FRAME.build(FRAME.parse(golden_frame)) == golden_frame
    assert encode_command(command) == without_what_means_nothing(golden_frame)


@given(data=st.data(), command=commands(JSON) | commands(ROCKETMQ))
def test_damaged_frames_give_commands_or_one_typed_error(data, command):
    frame = bytearray(encode_command(command)[4:])
    for _ in range(data.draw(st.integers(0, 3))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    del frame[data.draw(st.integers(0, len(frame))) :]
    with suppress(CodecError):
        decode_command(bytes(frame))


@given(frame=st.binary(max_size=80))
def test_random_frames_give_commands_or_one_typed_error(frame):
    with suppress(CodecError):
        decode_command(frame)


def json_frame(header: bytes) -> bytes:
    return len(header).to_bytes(4, "big") + header


def test_a_missing_key_has_the_value_a_new_command_has():
    command = decode_command(json_frame(b'{"code":34}'))
    assert fields(command) == fields(RemotingCommand(34, 0, version=0))


def test_fastjson_takes_numbers_and_text_for_each_other():
    command = decode_command(
        json_frame(
            b'{"code":"34","opaque":7,"extFields":{"a":1,"b":true,"c":null,"d":"x"},"new":[{}]}'
        )
    )
    assert (command.code, command.opaque) == (34, 7)
    assert command.ext_fields == {"a": "1", "b": "true", "d": "x"}


@pytest.mark.parametrize("name", [b"ZIG", b"OTHER"])
def test_a_language_of_the_future_is_another_one(name):
    command = decode_command(json_frame(b'{"code":1,"language":"%b"}' % name))
    assert command.language == LanguageCode.OTHER


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"[]",
        b'{"code":2147483648}',
        b'{"\xff":1,"extFields":{"a":1}}',
        b'{"code":1,"extFields":[]}',
        b'{"code":1,"remark":"\xff"}',
        b'{"code":1,"extFields":{"a":"\xff"}}',
        b"[" * 5000,
        b'{"code":1,"new":' + b"[" * 5000,
        b'{"code":1,"extFields":{"a":' + b"[" * 5000,
    ],
)
def test_an_invalid_json_header_is_refused(header):
    with pytest.raises(CodecError, match="JSON header"):
        decode_command(json_frame(header))


def test_codes_above_16_bits_need_json():
    command = RemotingCommand(200050, 1, coding=ROCKETMQ)
    with pytest.raises(CodecError, match="code 200050"):
        encode_command(command)
    command.coding = JSON
    assert decode_command(encode_command(command)[4:]).code == 200050


def test_an_unknown_coding_is_refused():
    with pytest.raises(CodecError, match="header coding 2"):
        decode_command(b"\x02\x00\x00\x00")


def test_an_empty_binary_value_counts_as_absent():
    command = RemotingCommand(1, 1, ext_fields={"a": "", "b": "x"}, coding=ROCKETMQ)
    assert decode_command(encode_command(command)[4:]).ext_fields == {"b": "x"}


def test_binary_text_that_is_not_utf8_is_read_as_java_reads_it():
    frame = encode_command(RemotingCommand(1, 1, ext_fields={"a": "?"}, coding=ROCKETMQ))
    assert decode_command(frame.replace(b"?", b"\xff")[4:]).ext_fields == {"a": "\ufffd"}


def test_flag_bits():
    assert RemotingCommand(0, 1, flag=1).is_response
    assert not RemotingCommand(0, 1, flag=1).is_oneway
    assert RemotingCommand(0, 1, flag=2).is_oneway


def with_fields(coding: int, count: int, size: int = 1) -> bytes:
    """A frame without its length word, with this many fields."""
    ext = {f"key{number}": "x" * size for number in range(count)}
    command = RemotingCommand(10, opaque=77, flag=2, ext_fields=ext, body=b"body", coding=coding)
    return encode_command(command)[4:]


@pytest.mark.parametrize("coding", [JSON, ROCKETMQ])
def test_a_header_has_limits(coding):
    assert len(decode_command(with_fields(coding, 512)).ext_fields) == 512
    assert len(decode_command(with_fields(coding, 2, 500_000)).ext_fields) == 2
    for frame in (
        with_fields(coding, 513),
        with_fields(coding, 100_000),
        with_fields(coding, 3, 400_000),
    ):
        with pytest.raises(HeaderTooLarge, match="allowed") as refused:
            decode_command(frame)
        assert (refused.value.opaque, refused.value.flag) == (77, 2)
        assert refused.value.coding == coding


def test_keys_of_a_large_header_are_counted_not_what_looks_like_them():
    """Texts may have any number of quotes and colons, as properties with JSON inside have."""
    text = json.dumps({"a": json.dumps({f'"k{n}\\': "v" for n in range(900)})})
    command = RemotingCommand(10, opaque=1, ext_fields={"properties": text})
    assert decode_command(encode_command(command)[4:]).ext_fields == {"properties": text}
    tricky = {f"a{n}\\": "b" for n in range(2000)}
    with pytest.raises(HeaderTooLarge):
        decode_command(encode_command(RemotingCommand(10, opaque=1, ext_fields=tricky))[4:])


@pytest.mark.parametrize(
    "header",
    [
        b"[" * 900_000,
        b'{"x":' * 150_000,
        b'{"x":' + b"[" * 900_000,
        b'{"language":1,"x":' + b"[[]," * 200_000,
    ],
    ids=["arrays", "objects", "arrays in one", "lenient"],
)
def test_a_header_that_nests_is_refused(header):
    with pytest.raises(CodecError):
        decode_command(struct.pack(">I", len(header)) + header)


@pytest.mark.parametrize("begin", range(0, 0x10000, 0x1000))
def test_what_we_print_is_json_for_every_reader(begin):
    """Readers of old clients (fastjson 1.1 and 1.2) take JSON as it is written down, and no more."""
    points = [*range(begin, begin + 0x1000), 0x1F600 + begin]
    text = "".join(chr(one) for one in points if not 0xD800 <= one < 0xE000)
    command = RemotingCommand(1, 7, remark=text, ext_fields={text: text})
    head = encode_command(command)[8:]
    assert not any(byte < 0x20 for byte in head)
    found = json.loads(head.decode())
    assert (found["remark"], found["extFields"]) == (text, {text: text})
    body = dumps({text: [text]})
    assert not any(byte < 0x20 for byte in body)
    assert json.loads(body) == {text: [text]}
