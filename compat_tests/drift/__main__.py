"""What a compatible broker must look at between two versions of RocketMQ, by their source jars.

    python -m compat_tests.drift 5.5.0 5.5.1
    make drift OLD=5.5.0 NEW=5.5.1

Codes, fields of headers and bodies with types and defaults, settings with defaults, names of metrics, commands of
mqadmin with their options, numbers of file layouts; and methods of processors that remark something else. Beside each
stands the file of ours that has to do with it. --keep (make: KEEP=yes) writes docs/drift/OLD-to-NEW.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from compat_tests.drift import sources
from compat_tests.drift.facts import KINDS, Fact, Facts, facts
from compat_tests.drift.ours import file_of
from compat_tests.servers.artifacts import ROOT

FOLDER: Final = ROOT / "docs" / "drift"
NOTHING: Final = "-"


class Change(NamedTuple):
    """`old` or `new` is "-" where the other version alone has it."""

    fact: Fact
    old: str
    new: str


def changes(old: Facts, new: Facts) -> list[Change]:
    """By kind, in the order of `KINDS`, and by name."""
    found = [
        Change(fact, old.get(fact, NOTHING), new.get(fact, NOTHING))
        for fact in old.keys() | new.keys()
        if old.get(fact) != new.get(fact)
    ]
    return sorted(found, key=lambda one: (KINDS.index(one.fact.kind), one.fact.name))


def table(found: list[Change]) -> Iterator[str]:
    """A section with a table for each kind."""
    for kind in KINDS:
        own = [one for one in found if one.fact.kind == kind]
        if own:
            yield f"\n## {kind.capitalize()}s\n\n| name | old | new | ours |\n|---|---|---|---|"
            for fact, old, new in own:
                cells = (fact.name, old, new, file_of(fact) or NOTHING)
                yield f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    """As Markdown shows it: a `<` would begin a tag."""
    return text.replace("|", chr(92) + "|").replace("<", "&lt;")


def page(old: str, new: str, jars: Mapping[str, list[str]], found: list[Change]) -> str:
    """The whole page, whose head says what could not be looked at."""
    both = [module for module in jars[old] if module in jars[new]]
    only = [module for module in sources.MODULES if (module in jars[old]) != (module in jars[new])]
    head = [
        f"# From RocketMQ {old} to {new}",
        "",
        f"`make drift OLD={old} NEW={new}` reads the sources of {', '.join(both)} in both versions: names, numbers and",
        "defaults, and for what a server remarks a digest. `-` is what a version does not have.",
    ]
    if only:
        head += ["", f"Not compared, because only one of the two can be had: {', '.join(only)}."]
    return "\n".join([*head, *table(found)]) + "\n"


def compared(old: str, new: str) -> tuple[dict[str, list[str]], list[Change]]:
    """The modules of each that could be had, and what differs in those that both have. sources.CannotFetch."""
    jars = {version: sources.jars_of(version) for version in (old, new)}
    both = [module for module in jars[old] if module in jars[new]]
    read = {
        version: facts(text for module in both for text in sources.texts(jars[version][module]))
        for version in (old, new)
    }
    return {version: list(found) for version, found in jars.items()}, changes(read[old], read[new])


def main() -> int:
    """0, whatever differs; 1 if there are no sources."""
    parser = argparse.ArgumentParser(
        "python -m compat_tests.drift",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("old", metavar="OLD")
    parser.add_argument("new", metavar="NEW")
    parser.add_argument("--json", action="store_true", help="a line for each change")
    parser.add_argument("--keep", action="store_true", help="write docs/drift/OLD-to-NEW.md")
    told = parser.parse_args()
    try:
        modules, found = compared(told.old, told.new)
    except sources.CannotFetch as error:
        print(error, file=sys.stderr)
        return 1
    whole = page(told.old, told.new, modules, found)
    if told.json:
        for fact, old, new in found:
            ours = file_of(fact)
            print(json.dumps({**fact._asdict(), "old": old, "new": new, "ours": ours}))
    else:
        print(whole, end="")
    if told.keep:
        FOLDER.mkdir(exist_ok=True)
        file = FOLDER / f"{told.old}-to-{told.new}.md"
        file.write_text(whole)
        print(f"kept: {file.relative_to(ROOT)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
