"""The texts of options as Spark passes them: ignoring case, and with some of its own among them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Final

from trimq.spark.errors import WrongOption

TRUE: Final = {"true": True, "false": False}
# Options that Spark itself may put among ours.
SPARKS_OWN: Final = frozenset({"path", "checkpointlocation", "__datasource_schema__", "queryname"})


def of_table(given: Mapping[str, str]) -> Mapping[str, str]:
    """The options among what Spark passes: for an SQL table it adds all that it knows about the
    table.

    Then each option is there a second time with `option.` in front, and a provider.
    """
    if not any(key.lower() == "provider" for key in given):
        return given
    lead = "option."
    found = {key[len(lead) :]: text for key, text in given.items() if key.lower().startswith(lead)}
    # Spark turns a path into a location.
    location = next((text for key, text in given.items() if key.lower() == "location"), None)
    return found if location is None else {"path": location, **found}


class Options:
    """The text of each option, with errors that name it."""

    def __init__(self, given: Mapping[str, str], known: Iterable[str]) -> None:
        names = {name.lower(): name for name in known}
        self._values: dict[str, str] = {}
        for key, value in of_table(given).items():
            name = names.get(key.lower())
            if name is not None:
                self._values[name] = value
            elif key.lower() not in SPARKS_OWN:
                raise WrongOption(_unknown(key, names))

    def demand_some(self, example: str) -> None:
        """WrongOption when none at all is given, as when a table of SQL is used as if Spark kept its options."""
        if not self._values:
            raise WrongOption(
                f"no option is given: .option(...), or in SQL OPTIONS ({example}). When a table of SQL is read or"
                " written, Spark passes none of the table's OPTIONS to a Python data source: give "
                f"them in the query, FROM t WITH ({example})"
            )

    def text(self, name: str, default: str | None = None) -> str | None:
        value = self._values.get(name, "").strip()
        return value or default

    def required(self, name: str, example: str) -> str:
        value = self.text(name)
        if value is None:
            raise WrongOption(f"option {name!r} is missing: .option({name!r}, {example!r})")
        return value

    def number(self, name: str, default: int, least: int = 1, most: int = 1 << 31) -> int:
        found = self.optional_number(name, least, most)
        return default if found is None else found

    def optional_number(self, name: str, least: int = 1, most: int = 1 << 62) -> int | None:
        value = self.text(name)
        if value is None:
            return None
        if not value.isdecimal() or not least <= int(value) <= most:
            raise WrongOption(f"option {name!r} is {value!r}, not a number from {least} to {most}")
        return int(value)

    def choice(self, name: str, *allowed: str) -> str | None:
        value = self.text(name)
        if value is not None and value.lower() not in allowed:
            listed = " nor ".join(repr(one) for one in allowed)
            raise WrongOption(f"option {name!r} is {value!r}, neither {listed}")
        return None if value is None else value.lower()

    def only(self, *names: str) -> tuple[str, str] | None:
        """The one of these options that is given, and its text."""
        given = [(name, value) for name in names if (value := self.text(name)) is not None]
        if len(given) > 1:
            first, second = (repr(name) for name, _ in given[:2])
            raise WrongOption(f"give option {first} or {second}, not both")
        return given[0] if given else None

    def flag(self, name: str, default: bool) -> bool:
        value = self.text(name)
        if value is None:
            return default
        if value.lower() not in TRUE:
            raise WrongOption(f"option {name!r} is {value!r}, neither 'true' nor 'false'")
        return TRUE[value.lower()]


def _unknown(key: str, names: Mapping[str, str]) -> str:
    near = difflib.get_close_matches(key.lower(), names, 1)
    if near:
        return f"there is no option {key!r}; did you mean {names[near[0]]!r}?"
    return f"there is no option {key!r}; there are: {', '.join(names.values())}"
