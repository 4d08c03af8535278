"""The file of a record: what each version of the real server has shown, and what is equal on several of them once.

    {"fingerprint": "...", "versions": ["5.5.0", "5.5.1"], "outcomes": {
    CASE: OUTCOME, ...
    }, "others": {
    "5.5.0": {CASE: [OUTCOME], CASE: []}
    }}

`outcomes` are those of the newest of the versions, a line for each case. `others` are the cases of which an older
version has shown something else, or nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compat_tests.servers.versions import VERSIONS

Outcomes = dict[str, Any]


@dataclass
class RecordFile:
    """`seen`: by version, the outcome of each case that was played on it."""

    fingerprint: str
    seen: dict[str, Outcomes] = field(default_factory=dict)

    @property
    def newest(self) -> str:
        """The newest version that something is recorded of."""
        return max(self.seen, key=VERSIONS.index)

    @classmethod
    def read(cls, file: Path) -> RecordFile | None:
        """None: there is no such file."""
        if not file.exists():
            return None
        record = json.loads(file.read_bytes())
        newest: Outcomes = record["outcomes"]
        others = record["others"]
        seen = {version: _of(newest, others.get(version, {})) for version in record["versions"]}
        return cls(record["fingerprint"], seen)

    def text(self, is_equal: Callable[[Any, Any], bool]) -> str:
        """`is_equal`: of two outcomes, whether the difference between them is chance."""
        versions = [version for version in VERSIONS if version in self.seen]
        newest = self.seen[versions[-1]] if versions else {}
        others = {
            version: _others(newest, self.seen[version], is_equal) for version in versions[:-1]
        }
        head = json.dumps({"fingerprint": self.fingerprint, "versions": versions})
        return (
            f'{head[:-1]}, "outcomes": {{\n{_lines(newest)}\n}}, "others": {{\n'
            + ",\n".join(
                f"{json.dumps(version)}: {{\n{_lines(cases)}\n}}"
                for version, cases in others.items()
            )
            + "\n}}\n"
        )


def _of(newest: Outcomes, others: Mapping[str, list[Any]]) -> Outcomes:
    own = {case: found[0] for case, found in others.items() if found}
    return {case: seen for case, seen in newest.items() if case not in others} | own


def _others(newest: Outcomes, older: Outcomes, is_equal: Callable[[Any, Any], bool]) -> Outcomes:
    missing: Outcomes = {case: [] for case in newest.keys() - older.keys()}
    differing = {
        case: [seen]
        for case, seen in older.items()
        if case not in newest or not is_equal(newest[case], seen)
    }
    return missing | differing


def _lines(cases: Mapping[str, Any]) -> str:
    return ",\n".join(
        f"{json.dumps(case)}: {json.dumps(cases[case], sort_keys=True)}" for case in sorted(cases)
    )
