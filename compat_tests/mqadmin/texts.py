"""Command lines with a server's names in them, and what is compared of what they print."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from compat_tests.mqadmin.case import AdminCase
from compat_tests.mqadmin.masks import Addressed, mask
from compat_tests.mqadmin.tools import Printed
from compat_tests.servers.artifacts import ROOT
from trimq.codec.records.record import parse_record

VECTORS: Final = ROOT / "tests" / "vectors"


def words_of(
    line: str, values: Mapping[str, str], case: AdminCase | None = None, out: Path | None = None
) -> list[str]:
    """A command line's words; `values` are a server's names."""
    slug = re.sub(r"\W", "", str(case).title())
    all_values = {**values, "topic": f"Topic{slug}", "group": f"Group{slug}", "out": out}
    return [word.format(**all_values) for word in line.split(" ")]


def shown(
    case: AdminCase, printed: Sequence[Printed], server: Addressed, out: Path, temporary: Path
) -> str:
    """A case's text without what belongs to this run; `out` and `temporary` are the tool's folders."""
    text = "".join(one.out for one in printed)
    text = text.replace(str(out), "<out>").replace(str(temporary), "<tmp>")
    text = mask(text, server)
    for pattern, replacement in case.masks:
        text = re.sub(pattern, replacement, text)
    return text


def check_codes(case: AdminCase, printed: Sequence[Printed], kind: str, *, ours: bool) -> None:
    """AssertionError unless each line ended as it should on that kind of server; the official tool says less of it."""
    *before, last = printed
    assert not [one for one in before if one.code not in (0, None)], before
    if kind in case.refused_by:
        # The official tool says so in its text, or in a stack trace.
        assert last.code in (1, None), last
        assert not ours or last.err.startswith("mqadmin: "), last
    else:
        assert last.code in (0, None), last.err


def check_failure(printed: Printed, code: int, sentence: str) -> None:
    """AssertionError unless a line of ours ended so, and said so."""
    assert (printed.code, "Traceback" in printed.err) == (code, False), printed.err
    assert re.search(sentence, printed.err), printed.err


def with_files(printed: Printed) -> Printed:
    """The text, and behind it what is in the files that it names."""
    named = re.findall(r"(?:written to file|export) (\S+)", printed.out)
    texts = [f"\n{name}:\n{Path(name).read_text()}\n" for name in named]
    return replace(printed, out="".join([printed.out, *texts]))


def _printable_log() -> bytes:
    """Golden records, without those that the official tool fails to print: a % is a format to it."""
    data = (VECTORS / "commitlog-head.bin").read_bytes()
    records, at = [], 0
    while at < len(data):
        size = parse_record(data, at).total_size
        records.append(data[at : at + size])
        at += size
    return b"".join(record for record in records if b"%" not in record)


def write_files(folder: Path) -> dict[str, str]:
    """Lists for the commands that read them from files."""
    texts = {
        "topics_file": '[{"topicName":"ListedTopic","readQueueNums":2,"writeQueueNums":3,"perm":6}]',
        "groups_file": '[{"groupName":"ListedGroup","retryMaxTimes":3}]',
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "log_file").write_bytes(_printable_log())
    return {name: str(folder / name) for name in (*texts, "log_file")}
