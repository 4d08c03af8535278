"""How `trimq inspect` shows what it found: lines for people, objects for programs."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from trimq.codec.errors import CodecError
from trimq.codec.flags import SysFlag
from trimq.codec.records.compression import unpack_body
from trimq.commands.popped import moment, note_lines
from trimq.store.inspecting.items import End, Item

BODY_FORMS: Final = ("none", "preview", "text", "hex")
PREVIEW_BYTES: Final = 64
_INDENT: Final = "\n    "
_COMPRESSIONS: Final = {
    0: "zlib",
    SysFlag.COMPRESSION_LZ4: "lz4",
    SysFlag.COMPRESSION_ZSTD: "zstd",
    SysFlag.COMPRESSION_ZLIB: "zlib",
}
_TRANSACTIONS: Final = {
    SysFlag.PREPARED: "prepared",
    SysFlag.COMMIT: "commit",
    SysFlag.ROLLBACK: "rollback",
}


def body_text(body: bytes, form: str) -> str:
    """The body in one of BODY_FORMS."""
    if form == "hex":
        return body.hex()
    if form == "text":
        return body.decode("utf-8", "replace")
    shown = body[:PREVIEW_BYTES]
    # A character of UTF-8 may have been cut: up to three bytes of it.
    text = shown.decode("utf-8", "ignore")
    readable = len(text.encode()) > len(shown) - 4 and text.isprintable()
    more = "..." if len(body) > PREVIEW_BYTES else ""
    return (text if readable else "0x" + shown.hex()) + more


def shown_body(fields: dict[str, Any], form: str) -> str:
    """A record's body in one of BODY_FORMS; what was compressed is shown as it was sent, but in hex."""
    body: bytes = fields["body"]
    if form != "hex":
        # What cannot be unpacked is shown as it is.
        with suppress(CodecError):
            body = unpack_body(body, fields["sys_flag"])
    return body_text(body, form)


def json_line(found: Item | End, body_form: str) -> str:
    if isinstance(found, End):
        value: dict[str, Any] = {"kind": "end", "file": str(found.file)}
        value |= {"position": found.position, "reason": str(found.reason), "text": found.text}
        if found.resume is not None:
            value["resume"] = found.resume
        return json.dumps(value, ensure_ascii=False)
    value = {"kind": found.name, "file": str(found.file), "position": found.position}
    value |= {"number": found.number, **found.fields}
    body = value.pop("body", None)
    if body is not None and body_form != "none":
        value["body"] = shown_body(found.fields, body_form)
    if isinstance(value.get("bit_map"), bytes):
        value["bit_map"] = value["bit_map"].hex()
    return json.dumps(value, ensure_ascii=False)


def text_lines(found: Item | End, body_form: str) -> str:
    if isinstance(found, End):
        damage = "DAMAGE: " if found.reason == "damage" else ""
        return f"end at byte {found.position}: {damage}{found.text}"
    fields = found.fields
    if found.name == "record":
        return _record(fields, body_form)
    show = _SHOWN.get(found.name)
    if show is not None:
        return show(found.number, fields)
    if found.name == "config":
        return json.dumps(fields["content"], indent=2, ensure_ascii=False)
    return _plain(found)


def heading(file: Path) -> str:
    return f"# {file}"


def _record(fields: dict[str, Any], body_form: str) -> str:
    first = (
        f"{fields['physical_offset']}  {fields['topic']} queue {fields['queue_id']} "
        f"offset {fields['queue_offset']}, {fields['total_size']} bytes"
    )
    lines = [first, f"id {fields['message_id']}"]
    lines.append(
        f"stored {moment(fields['store_timestamp'])} by {fields['store_host']}, "
        f"born {moment(fields['born_timestamp'])} by {fields['born_host']}"
    )
    special = _special(fields)
    if special:
        lines.append(", ".join(special))
    if fields["properties"]:
        lines.append(" ".join(f"{key}={value}" for key, value in fields["properties"].items()))
    if "pop" in fields:
        lines += note_lines(fields["pop"])
    body = f"body {fields['body_length']} bytes"
    if body_form != "none" and fields["body"]:
        body += f": {shown_body(fields, body_form)}"
    lines.append(body)
    if not fields["crc_holds"]:
        lines.append(f"DAMAGE: the body does not match its CRC {fields['body_crc']:#010x}")
    return _INDENT.join(lines)


def _special(fields: dict[str, Any]) -> list[str]:
    """What most records do not have."""
    found = [f"{key} {fields[key]}" for key in ("flag", "reconsume_times") if fields[key]]
    if fields["prepared_transaction_offset"]:
        found.append(f"prepared at {fields['prepared_transaction_offset']}")
    if fields["version"] != 1:
        found.append(f"version {fields['version']}")
    if fields["sys_flag"]:
        found.append(
            f"sysFlag {fields['sys_flag']:#x} ({', '.join(flag_words(fields['sys_flag']))})"
        )
    return found


def flag_words(flag: int) -> list[str]:
    words = [_TRANSACTIONS[kind]] if (kind := flag & SysFlag.TRANSACTION_MASK) else []
    if flag & SysFlag.COMPRESSED:
        words.append(f"{_COMPRESSIONS.get(flag & SysFlag.COMPRESSION_MASK, '?')}-compressed")
    named = {
        "multi tags": SysFlag.MULTI_TAGS,
        "born host IPv6": SysFlag.BORN_HOST_V6,
        "store host IPv6": SysFlag.STORE_HOST_V6,
        "needs unwrap": SysFlag.NEED_UNWRAP,
        "inner batch": SysFlag.INNER_BATCH,
    }
    return words + [word for word, bit in named.items() if flag & bit]


def _queue_entry(number: int, fields: dict[str, Any]) -> str:
    meaning = f"  ({fields['meaning']})" if "meaning" in fields else ""
    return f"{number:>10}  {_pointer(fields)}{meaning}"


def _batch_entry(number: int, fields: dict[str, Any]) -> str:
    rest = f"  compacted {fields['compacted_offset']}" if fields["compacted_offset"] != -1 else ""
    return (
        f"{number:>10}  offsets {fields['base_offset']}+{fields['count']}  {_pointer(fields)}, "
        f"stored {moment(fields['store_timestamp'])}{rest}"
    )


def _pointer(fields: dict[str, Any]) -> str:
    return (
        f"record {fields['physical_offset']}, {fields['size']} bytes, "
        f"tags code {fields['tags_code']}"
    )


def _index_entry(number: int, fields: dict[str, Any]) -> str:
    return (
        f"{number:>10}  hash {fields['key_hash']:>10}  record {fields['physical_offset']}  "
        f"+{fields['seconds']} s  previous {fields['previous_entry']}"
    )


def _timer_record(number: int, fields: dict[str, Any]) -> str:
    due = moment(fields["write_time"] + fields["delay"])
    return (
        f"{number:>10}  {fields['meaning']} at {due}: record {fields['physical_offset']}, "
        f"{fields['record_size']} bytes, topic hash {fields['topic_hash']}, "
        f"written {moment(fields['write_time'])}, previous {fields['previous_position']}"
    )


def _slot(number: int, fields: dict[str, Any]) -> str:
    # timerPrecisionMs is 1000 unless somebody changed it.
    return (
        f"{number:>10}  {moment(fields['time'] * 1000)} (time {fields['time']}): "
        f"{fields['count']} messages, timerlog {fields['first_position']}.."
        f"{fields['last_position']}, magic {fields['magic']}"
    )


def _unit(number: int, fields: dict[str, Any]) -> str:
    bits = fields["bit_map"].hex() or "none"
    return (
        f"{number:>10}  tags code {fields['tags_code']}, stored "
        f"{moment(fields['store_timestamp'])}, bit map {bits}"
    )


def _plain(found: Item) -> str:
    lines = [str(found.name)]
    for key, value in found.fields.items():
        when = isinstance(value, int) and ("timestamp" in key or key == "last_read_time")
        lines.append(f"{key}: {value}" + (f" ({moment(value)})" if when and value > 0 else ""))
    return _INDENT.join(lines)


_SHOWN: Final[dict[str, Callable[[int, dict[str, Any]], str]]] = {
    "queue entry": _queue_entry,
    "batch entry": _batch_entry,
    "extension unit": _unit,
    "index entry": _index_entry,
    "timer record": _timer_record,
    "timer slot": _slot,
}
