"""What parts of `make test` cost, from pytest's own reports (JUnit XML) and the processor time of their processes."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

SLOWEST: Final = 10
# How much of a failure stands at the end again, where somebody looks first.
FAILURE_LINES: Final = 25
# What pytest says instead of a reason when a whole file was skipped.
OF_A_FILE: Final = "collection skipped"


@dataclass(frozen=True)
class Outcome:
    """A part that has ended: exit code, seconds, seconds of processor time, and where pytest's report would be."""

    name: str
    code: int
    seconds: float
    cpu: float
    report: Path


@dataclass
class Tests:
    """What the tests of a part did."""

    passed: int = 0
    # Names, and what pytest said.
    failures: dict[str, str] = field(default_factory=dict)
    # Reasons, and how often.
    skipped: Counter[str] = field(default_factory=Counter)
    # Seconds with setup and teardown, and names.
    times: list[tuple[float, str]] = field(default_factory=list)

    @property
    def failed(self) -> int:
        return len(self.failures)


def tests_of(outcome: Outcome) -> Tests:
    found = Tests()
    for case in _cases(outcome.report):
        name = _name(case.get("classname", ""), case.get("name", ""))
        found.times.append((float(case.get("time", "0")), name))
        skipped = case.find("skipped")
        failures = [said.text or "" for kind in ("failure", "error") for said in case.iter(kind)]
        if failures:
            found.failures[name] = failures[0]
        elif skipped is not None:
            found.skipped[_reason(skipped)] += 1
        else:
            found.passed += 1
    return found


def _name(classname: str, name: str) -> str:
    """As pytest is asked for it: junit's class name is the module's, and behind it that of a class, if there is one."""
    parts = classname.split(".")
    classes = [part for part in parts if part[:1].isupper()]
    file = "/".join(parts[: len(parts) - len(classes)])
    return "::".join([f"{file}.py", *classes, name])


def _reason(skipped: ElementTree.Element) -> str:
    """Why a test was skipped. For a whole file pytest says it behind the file and the line, in a tuple's repr."""
    message = skipped.get("message", "")
    if message != OF_A_FILE:
        return message
    _, _, reason = ast.literal_eval(skipped.text or "")
    return str(reason).removeprefix("Skipped: ")


def _cases(report: Path) -> Iterator[ElementTree.Element]:
    """None for a part that is not a pytest session, or that did not reach its end."""
    if report.exists() and report.stat().st_size:
        yield from ElementTree.parse(report).getroot().iter("testcase")


def text(outcomes: Sequence[Outcome]) -> str:
    """The table, the slowest tests, what was skipped and why, and what failed."""
    tests = {one.name: tests_of(one) for one in outcomes}
    lines = ["", f"{'part':<16}{'seconds':>8}{'CPU':>8}{'passed':>8}{'skipped':>8}{'failed':>8}"]
    for one in outcomes:
        found = tests[one.name]
        counts = (found.passed, found.skipped.total(), found.failed)
        numbers = "".join(f"{count:>8}" for count in counts)
        end = "" if one.code == 0 else f"  exit code {one.code}"
        lines.append(f"{one.name:<16}{one.seconds:>8.0f}{one.cpu:>8.0f}{numbers}{end}")
    lines += ["", f"the slowest {SLOWEST} tests, in seconds with what they set up:"]
    times = sorted((time for found in tests.values() for time in found.times), reverse=True)
    lines += [f"{seconds:>8.1f}  {name}" for seconds, name in times[:SLOWEST]]
    skipped = sum((found.skipped for found in tests.values()), Counter[str]())
    lines += ["", f"skipped: {skipped.total()}"]
    lines += [f"{count:>8}  {reason}" for reason, count in skipped.most_common()]
    for one in outcomes:
        for name, said in tests[one.name].failures.items():
            lines += ["", f"failed in {one.name}: {name}"]
            lines += [f"    {line}" for line in said.splitlines()[-FAILURE_LINES:]]
    return "\n".join(lines)
