"""Turn ``broker.conf`` keys and ``--set key=value`` into the typed configs of the layers.

A setting is declared once, as a field of a frozen dataclass (trimq/base/setting_fields.py). What is read
here is the same at a start and while a server runs.
"""

import dataclasses
import difflib
import math
import re
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

from trimq.base.setting_fields import DECLARED, Declaration
from trimq.base.user_ids import user_ids
from trimq.codec.java.properties import decode_properties, read_properties

C = TypeVar("C")

_INT: Final = (-(2**31), 2**31 - 1)
_LONG: Final = (-(2**63), 2**63 - 1)
# Longer ones are outside any limits; int() would take a second for some of them.
_WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,40}")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SHOWN_CHARACTERS: Final = 100


class SettingsError(ValueError):
    """A value or a file that cannot be used; the text names key, value and what is allowed."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One declared setting: how its text is read, and how its value is written."""

    key: str
    attribute: str
    kind: Any
    declaration: Declaration
    field: dataclasses.Field[Any]

    @property
    def is_guarded(self) -> bool:
        """Whether only those who start the server set it."""
        return (
            self.declaration.guarded
            or self.declaration.secret
            or self.kind is Path
            or self.key.startswith("tls.")
        )

    def read(self, text: str) -> Any:
        """The value of a text; SettingsError names key, value and what is allowed."""
        text = text.strip()
        reader = _READERS.get(self.kind, Setting._parsed)
        value = reader(self, text)
        choices = self.declaration.choices
        if choices and value not in choices:
            raise self._refused(text, f"must be one of {', '.join(map(str, choices))}")
        return value

    def text(self, value: Any) -> str | None:
        """The value as a config file says it; None if it has none, or if only its text tells."""
        if self.declaration.parse is not None:
            return self.declaration.shown if value == self.field.default else None
        if value is None:
            return None
        return str(value).lower() if isinstance(value, bool) else str(value)

    def limits(self) -> tuple[float, float] | None:
        """The least and the greatest number; None for what is not a number."""
        if self.kind not in (int, float):
            return None
        low, high = _LONG if self.declaration.long or self.kind is float else _INT
        at_least, at_most = self.declaration.at_least, self.declaration.at_most
        return (low if at_least is None else at_least, high if at_most is None else at_most)

    def _refused(self, text: str, allowed: str) -> SettingsError:
        if self.declaration.secret:
            text = "******"
        elif len(text) > _SHOWN_CHARACTERS:
            text = f"{text[:_SHOWN_CHARACTERS]}..."
        return SettingsError(f"{self.key}={text}: {allowed}")

    def _boolean(self, text: str) -> bool:
        lowered = text.lower()
        if lowered not in ("true", "false"):
            raise self._refused(text, "must be true or false")
        return lowered == "true"

    def _integer(self, text: str) -> int:
        if not _WHOLE_NUMBER.fullmatch(text):
            low, high = self.limits() or _INT
            raise self._refused(text, f"must be a whole number from {low} to {high}")
        value = int(text)
        self._check_within(value, text)
        return value

    def _number(self, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise self._refused(text, "must be a number") from None
        if math.isnan(value):
            raise self._refused(text, "must be a number")
        self._check_within(value, text)
        return value

    def _check_within(self, value: float, text: str) -> None:
        low, high = self.limits() or _INT
        if value < low:
            raise self._refused(text, f"must be at least {low}")
        if value > high:
            raise self._refused(text, f"must be at most {high}")

    def _line(self, text: str) -> str:
        if _CONTROL.search(text):
            raise self._refused(repr(text), "must be one line of printable characters")
        return text

    def _path(self, text: str) -> Path:
        return Path(self._line(text))

    def _parsed(self, text: str) -> Any:
        parse = self.declaration.parse
        if parse is None:
            raise TypeError(f"setting '{self.key}' has no parser")
        try:
            return parse(text)
        except ValueError as error:
            raise self._refused(text, str(error)[:300]) from None


_READERS: Final[Mapping[Any, Any]] = {
    bool: Setting._boolean,
    int: Setting._integer,
    float: Setting._number,
    str: Setting._line,
    Path: Setting._path,
}


def camel(name: str) -> str:
    """``broker_cluster_name`` -> ``brokerClusterName``."""
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def settings_of(config: type[Any]) -> Mapping[str, Setting]:
    """RocketMQ key -> setting, for every one that a config class declares."""
    hashable: Any = config
    return _settings_of(hashable)


# The types are texts, and take a millisecond to read.
@cache
def _settings_of(config: Any) -> Mapping[str, Setting]:
    hints = typing.get_type_hints(config)
    found = {}
    for field in dataclasses.fields(config):
        declaration = field.metadata.get(DECLARED)
        if declaration is not None:
            key = declaration.key or camel(field.name)
            kind = _plain_type(hints[field.name])
            found[key] = Setting(key, field.name, kind, declaration, field)
    return types.MappingProxyType(found)


def _plain_type(hint: Any) -> Any:
    """``int | None`` -> ``int``."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        plain = [part for part in typing.get_args(hint) if part is not type(None)]
        return plain[0] if len(plain) == 1 else None
    return hint


def read_file(path: Path) -> dict[str, str]:
    """The keys and values of a ``broker.conf``."""
    return {key: text.strip() for key, text in read_file_as_it_is(path).items()}


def read_file_as_it_is(path: Path) -> dict[str, str]:
    """The same with the blanks behind the values."""
    try:
        return read_properties(decode_properties(path.read_bytes()), stripped=False)
    except OSError as error:
        raise SettingsError(
            f"cannot read {path}: {error.strerror or error} ({user_ids()})"
        ) from error
    except ValueError as error:
        raise SettingsError(f"cannot read {path}: {error}") from error


def parse_assignments(assignments: Iterable[str]) -> dict[str, str]:
    """``key=value`` words of the command line."""
    found: dict[str, str] = {}
    for word in assignments:
        key, equals, value = word.partition("=")
        if not equals or not key.strip():
            raise SettingsError(f"'{word}' is not a setting: write key=value")
        found[key.strip()] = value.strip()
    return found


def build(config: type[C], values: Mapping[str, str], **given: Any) -> C:
    """A config from texts; ``given`` are fields whose values are known already."""
    known = settings_of(config)
    chosen = {known[key].attribute: known[key].read(values[key]) for key in known if key in values}
    return config(**{**chosen, **given})


def unknown_keys(
    values: Mapping[str, str], configs: Iterable[type[Any]], also: Iterable[str] = ()
) -> list[str]:
    """A warning for each key that no config declares, with the nearest known name."""
    known = set(also)
    for config in configs:
        known |= settings_of(config).keys()
    return [unknown_key(key, known) for key in values if key not in known]


def unknown_key(key: str, known: Iterable[str]) -> str:
    """What is said about a key that does not exist, with the nearest one that does."""
    near = difflib.get_close_matches(key[:_SHOWN_CHARACTERS], known, n=1, cutoff=0.8)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return f"unknown setting '{key[:_SHOWN_CHARACTERS]}' is ignored: TriMQ does not have it{hint}"
