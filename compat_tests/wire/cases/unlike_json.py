"""Headers and bodies that fastjson2 reads although they are no JSON, and some that it does not: by form and place.

Clients write such texts whose JSON library knows no better: Node and Python print a character cut in two as one
surrogate, hand-made writers leave control characters as they are, JNI gives each surrogate three bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from compat_tests.wire import frames, reading
from compat_tests.wire.asks import ask, create_topic, pull
from compat_tests.wire.case import Case
from compat_tests.wire.frames import JSON_CODING
from compat_tests.wire.link import Closed, Link, NoReply
from compat_tests.wire.stage import Stage

OPAQUE: Final = 77
PATIENCE: Final = 5.0
# What stands for a text in JSON.
READ_TEXTS: Final[Mapping[str, bytes]] = {
    "the first half of a pair": rb'"a\ud83db"',
    "the second half of a pair": rb'"a\udc00b"',
    "a pair, escaped": rb'"a\ud83d\ude00b"',
    "halves the wrong way round": rb'"a\ude00\ud83db"',
    "a pair, half of it escaped twice": rb'"a\\ud83d\ude00b"',
    "a raw tab": b'"a\tb"',
    "a raw NUL": b'"a\0b"',
    "a raw line end": b'"a\r\nb"',
    "CESU-8": b'"a\xed\xa0\xbd\xed\xb8\x80b"',
    "CESU-8 beside an escape": b'"a\\n\xed\xa0\xbd\xed\xb8\x80b"',
    "a half in three bytes": b'"a\xed\xa0\xbdb"',
    "a half in three bytes beside an escape": b'"a\\n\xed\xa0\xbdb"',
    "c0 80": b'"a\xc0\x80b"',
    "c0 80 beside an escape": b'"a\\n\xc0\x80b"',
    "ISO-8859-1": b'"a\xe9bcd"',
    "ISO-8859-1 beside an escape": b'"a\\n\xe9bcd"',
    "ISO-8859-1, two bytes": b'"a\xdfbcd"',
    "an overlong slash": b'"a\xe0\x80\xafb"',
    "four bytes": b'"a\xf0\x9f\x98\x80b"',
    "four bytes beside an escape": b'"a\\n\xf0\x9f\x98\x80b"',
    "a hexadecimal escape": rb'"a\x41b"',
    "letters that are no digits": rb'"a\u00zzb"',
    "single quotes": b"'a'",
    "single quotes around double ones": b"'a\"b'",
    "an escaped single quote": rb'"a\'b"',
    "a number with plus": b"+1",
    "a number with zeros": b"007",
    "a number with a point": b"5.",
    "a number with a kind": b"12L",
    "a fraction": b"1.5",
    "a float with a kind": b"3F",
    "an exponent": b"1e3",
    "true": b"true",
    **{
        f"the escape {letter}": b'"a\\' + letter.encode() + b'b"'
        for letter in "0127vfFbtnr/.#&[]@()_,~ '"
    },
}
IN_QUOTES: Final = {what: form for what, form in READ_TEXTS.items() if form[:1] in b"\"'"}
# fastjson2 reads these as values only.
NO_KEYS: Final = ("ISO-8859-1 beside an escape", "four bytes beside an escape")
UNREAD_TEXTS: Final[Mapping[str, bytes]] = {
    "GBK": b'"\xb6\xa9"',
    "ff": b'"a\xffb"',
    "ISO-8859-1 that swallows the quote": b'"a\xe9"',
    "beyond Unicode": b'"a\xf4\x90\x80\x80b"',
    "beyond Unicode beside an escape": b'"a\\n\xf4\x90\x80\x80b"',
    "an escape that there is not": rb'"a\qb"',
    "a hexadecimal escape without digits": rb'"a\x4gb"',
    "NaN": b"NaN",
    "Infinity": b"-Infinity",
    "undefined": b"undefined",
    "a word": b"abc",
    "no value": b"",
}
NUMBERS: Final[Mapping[str, bytes]] = {
    "with plus": b"+1",
    "with zeros": b"01",
    "with a point": b"1.",
    "a fraction": b"1.5",
    "with a kind": b"1L",
    "as a text with plus": b'"+1"',
    "as a text in single quotes": b"'1'",
    "true": b"true",
    "minus zero": b"-0",
}
HEAD: Final = b'"code":38,"flag":0,"language":"JAVA","opaque":77,"version":513'
FIELDS: Final = b'"extFields":{"consumerGroup":"nobody"}'
READ_FORMS: Final[Mapping[str, bytes]] = {
    "a comma behind the last member": b"{" + HEAD + b"," + FIELDS + b",}",
    "a comma behind the last field": b"{" + HEAD + b',"extFields":{"consumerGroup":"nobody",}}',
    "a comma behind everything": b"{" + HEAD + b"," + FIELDS + b"},",
    "no comma": b"{" + HEAD + b" " + FIELDS + b"}",
    "no comma between fields": b"{" + HEAD + b',"extFields":{"consumerGroup":"nobody" "a":"b"}}',
    "a comment before a key": b"{/* a */" + HEAD + b",// b\n" + FIELDS + b"}",
    "a comment around it": b"/* a */{" + HEAD + b"," + FIELDS + b"}/* b */",
    "blanks of all kinds": b"\t{\r\n\x0c" + HEAD + b" ,\x08" + FIELDS + b" } ",
    "NUL around it": b"\0{" + HEAD + b"," + FIELDS + b"}\0",
    "an escaped key": b"{" + HEAD + rb',"extField\u0073":{"consumer\x47roup":"nobody"}}',
    "a key with a tab": b"{" + HEAD + b',"a\tb":1,' + FIELDS + b"}",
    "a key with a half of a pair": b"{" + HEAD + rb',"a\ud83d":1,' + FIELDS + b"}",
    "a member that nobody knows": b"{"
    + HEAD
    + rb',"x":{"y":["a\ud83d",+1,Set["z"]]},'
    + FIELDS
    + b"}",
    "a remark with a half of a pair": b"{" + HEAD + rb',"remark":"a\udc00",' + FIELDS + b"}",
    "everything in single quotes": (b"{" + HEAD + b"," + FIELDS + b"}").replace(b'"', b"'"),
}
UNREAD_FORMS: Final[Mapping[str, bytes]] = {
    "two commas": b"{" + HEAD + b",," + FIELDS + b"}",
    "a comment before a colon": b"{" + HEAD + b',"extFields"/* a */:{"consumerGroup":"nobody"}}',
    "a comment before a comma": b"{" + HEAD + b"/* a */," + FIELDS + b"}",
    "keys without quotes": (b"{" + HEAD + b"," + FIELDS + b"}").replace(
        b'"extFields"', b"extFields"
    ),
    "something behind it": b"{" + HEAD + b"," + FIELDS + b"}x",
    "no end": b"{" + HEAD + b"," + FIELDS,
    "a semicolon": b"{" + HEAD + b";" + FIELDS + b"}",
    "a byte order mark": b"\xef\xbb\xbf{" + HEAD + b"," + FIELDS + b"}",
    "a key that is no UTF-8": b"{" + HEAD + b',"a\xffb":1,' + FIELDS + b"}",
    "a vertical tab": b"{\x0b" + HEAD + b"," + FIELDS + b"}",
    "fields as a list": b"{" + HEAD + b',"extFields":["a"]}',
}
Build = Callable[[Stage, bytes], tuple[bytes, bytes]]


def cases() -> Iterator[Case]:
    yield from fields()
    yield from members()
    yield from bodies()
    yield from requests_behind()


def outcome(stage: Stage, header: bytes, body: bytes = b"", rest: bytes = b"") -> Any:
    """What comes to a frame of its own connection."""
    link = Link(stage.place.broker)
    try:
        link.write(frames.with_lengths(header, body, JSON_CODING) + rest)
        return reading.reply(link.reply(OPAQUE, PATIENCE), reading.as_json)
    except Closed:
        return "closed"
    except NoReply:
        return "no answer"
    finally:
        link.close()


def subscribed(stage: Stage, header: bytes, body: bytes, group: str) -> Any:
    """What the broker says of a group's subscription while its member is connected."""
    body = body.replace(stage.group.encode(), group.encode())
    link = Link(stage.place.broker)
    try:
        link.write(frames.with_lengths(header, body, JSON_CODING))
        code = link.reply(OPAQUE, PATIENCE).code
        shown = stage.ask(ask(203, {"consumerGroup": group}))
        table = reading.as_json(shown.body)["value"]["subscriptionTable"] if shown.body else {}
        return [code, table.get(stage.topic, {}).get("subString")]
    except Closed:
        return "closed"
    finally:
        link.close()


def each(
    name: str, forms: Mapping[str, bytes], build: Build, show: Callable[[Stage], None]
) -> Case:
    """One request for each form, and what the broker shows afterwards."""

    def play(stage: Stage) -> None:
        stage.must(create_topic(queues=1))
        for what, form in forms.items():
            stage.record(what, outcome(stage, *build(stage, form)))
        show(stage)

    return Case(f"unlike JSON: {name}", play)


def head(code: int, fields: bytes, more: bytes = b"") -> bytes:
    return (
        b'{"code":%d,"flag":0,"language":"JAVA","opaque":77,"version":513,' % code
        + more
        + b'"extFields":{'
        + fields
        + b"}}"
    )


def nothing(_: Stage) -> None:
    """The replies say it all."""


def stored(stage: Stage) -> None:
    stage.show("stored", pull(maxMsgNums=100), reading.as_records)


def fields() -> Iterator[Case]:
    """Ext fields: values, properties of a message, and keys."""

    def value(_: Stage, form: bytes) -> tuple[bytes, bytes]:
        return head(38, b'"consumerGroup":' + form), b""

    def properties(stage: Stage, form: bytes) -> tuple[bytes, bytes]:
        quote = form[:1] if form[:1] in b"\"'" and form else b""
        text = (
            form
            if not quote
            else quote + rb"KEYS\u0001" + form[1:-1] + rb"\u0002WAIT\u0001true" + quote
        )
        usual = '"a":"$P","b":"$T","c":"TBW102","d":"4","e":"0","f":"0","g":"1700000000000","h":"0"'
        usual += ',"j":"0","k":"false","m":"false"'
        return head(310, stage.fill(usual).encode() + b',"i":' + text), b"hello"

    def raw_properties(stage: Stage, form: bytes) -> tuple[bytes, bytes]:
        header, body = properties(stage, form)
        return header.replace(rb"\u0001", b"\x01").replace(rb"\u0002", b"\x02"), body

    def key(_: Stage, form: bytes) -> tuple[bytes, bytes]:
        return head(38, form + b':"x","consumerGroup":"nobody"'), b""

    keys = {what: form for what, form in IN_QUOTES.items() if what not in NO_KEYS}
    yield each("value of a field", READ_TEXTS, value, nothing)
    # Escapes are beside all of them.
    yield each("properties", IN_QUOTES, properties, stored)
    yield each("properties with raw separators", IN_QUOTES, raw_properties, stored)
    yield each("key of a field", keys, key, nothing)
    yield each("value of a field, unread", UNREAD_TEXTS, value, nothing)
    yield each("properties, unread", UNREAD_TEXTS, properties, stored)


def members() -> Iterator[Case]:
    """The header itself."""

    def whole(_: Stage, form: bytes) -> tuple[bytes, bytes]:
        return form, b""

    def version(_: Stage, form: bytes) -> tuple[bytes, bytes]:
        return b'{"version":' + form + b',"code":38,"opaque":77,' + FIELDS + b"}", b""

    def opaque(_: Stage, form: bytes) -> tuple[bytes, bytes]:
        seventy_seven = form.replace(b"1", b"77") if b"1" in form else b"77"
        return b'{"opaque":' + seventy_seven + b',"code":38,' + FIELDS + b"}", b""

    opaques = {what: form for what, form in NUMBERS.items() if b"1" in form}
    yield each("header", READ_FORMS, whole, nothing)
    yield each("number of a header", NUMBERS, version, nothing)
    yield each("opaque of a header", opaques, opaque, nothing)
    yield each("header, unread", UNREAD_FORMS, whole, nothing)


def bodies() -> Iterator[Case]:
    """A heartbeat, a group, a list of topics."""

    def heartbeat(stage: Stage, form: bytes) -> tuple[bytes, bytes]:
        body = stage.fill(
            '{"clientID":"$C","consumerDataSet":[{"groupName":"$G","consumeType":"CONSUME_PASSIVELY"'
            ',"messageModel":"CLUSTERING","consumeFromWhere":"CONSUME_FROM_LAST_OFFSET"'
            ',"subscriptionDataSet":[{"topic":"$T","subVersion":1,"subString":FORM}],}]}'
        )
        return b'{"code":34,"opaque":77,"version":513}', body.encode().replace(b"FORM", form)

    def key(stage: Stage, form: bytes) -> tuple[bytes, bytes]:
        body = stage.fill('{"clientID":"$C","producerDataSet":[{FORM:1,"groupName":"$P"}]}')
        return b'{"code":34,"opaque":77,"version":513}', body.encode().replace(b"FORM", form)

    def listed(stage: Stage, form: bytes) -> tuple[bytes, bytes]:
        body = stage.fill('{"clientID":"$C","producerDataSet":SET[{"groupName":"$P"},],"x":[FORM]}')
        body = body.replace("SET", "Set" if form[:1] == b"'" else "")
        return b'{"code":34,"opaque":77,"version":513}', body.encode().replace(b"FORM", form)

    def group(stage: Stage, form: bytes) -> tuple[bytes, bytes]:
        body = stage.fill('{"groupName":"$G","retryMaxTimes":FORM,"retryQueueNums":+1,}')
        return b'{"code":200,"opaque":77,"version":513}', body.encode().replace(b"FORM", form)

    def topics(stage: Stage, form: bytes) -> tuple[bytes, bytes]:
        body = stage.fill(
            "{'topicConfigList':[{'topicName':'$T','readQueueNums':FORM,'perm':+6},],}"
        )
        return b'{"code":18,"opaque":77,"version":513}', body.encode().replace(b"FORM", form)

    keys = {what: form for what, form in IN_QUOTES.items() if what not in NO_KEYS}
    no_keys = {what: form for what, form in IN_QUOTES.items() if what in NO_KEYS}

    def kept(stage: Stage) -> None:
        stage.must(create_topic(queues=1))
        for number, (what, form) in enumerate(READ_TEXTS.items()):
            group = f"{stage.group}-{number}"
            stage.record(what, subscribed(stage, *heartbeat(stage, form), group))

    yield Case("unlike JSON: text of a heartbeat", kept)
    yield each("key of a heartbeat", keys, key, nothing)
    yield each("key of a heartbeat, unread", no_keys, key, nothing)
    yield each("member of a heartbeat that nobody knows", READ_TEXTS, listed, nothing)
    yield each("text of a heartbeat, unread", UNREAD_TEXTS, heartbeat, nothing)
    yield each("number of a group", NUMBERS, group, lambda stage: show(stage, 352, "group", "$G"))
    yield each("number of a topic", NUMBERS, topics, lambda stage: show(stage, 351, "topic", "$T"))


def show(stage: Stage, code: int, field: str, name: str) -> None:
    stage.show("shown", ask(code, {field: name}))


def requests_behind() -> Iterator[Case]:
    """Frames behind a header that nobody can read."""

    def behind(stage: Stage, form: bytes) -> tuple[bytes, bytes, bytes]:
        bad = b'{"code":38,"opaque":76,"extFields":{"consumerGroup":' + form + b"}}"
        good = head(38, b'"consumerGroup":"nobody"')
        rest = frames.with_lengths(good, b"", JSON_CODING)
        return bad, b"", rest

    def play(forms: Mapping[str, bytes]) -> Callable[[Stage], None]:
        def played(stage: Stage) -> None:
            for what, form in forms.items():
                stage.record(what, outcome(stage, *behind(stage, form)))

        return played

    yield Case("unlike JSON: the request behind", play(READ_TEXTS))
    yield Case("unlike JSON: the request behind, unread", play(UNREAD_TEXTS))
