"""Turn ``broker.conf`` keys and ``--set key=value`` into the typed configs of the layers.

A setting is declared once, as a field of a frozen dataclass with metadata (``doc``, limits, ``choices``);
its RocketMQ key is the field's name in camelCase unless the metadata names another (``key``).
"""

import dataclasses
import difflib
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from trimq.properties_file import parse_properties_text

C = TypeVar("C")


class SettingsError(ValueError):
    """A value or a file that cannot be used; the text names key, value and what is allowed."""


def camel(name: str) -> str:
    """``broker_cluster_name`` -> ``brokerClusterName``."""
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def keys_of(config: type[Any]) -> dict[str, dataclasses.Field[Any]]:
    """RocketMQ key -> field, for every setting that a config class declares."""
    return {
        field.metadata.get("key") or camel(field.name): field
        for field in dataclasses.fields(config)
        if field.init and not field.metadata.get("internal")
    }


def read_file(path: Path) -> dict[str, str]:
    """The keys and values of a ``broker.conf``."""
    try:
        return parse_properties_text(path.read_text("utf-8"))
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is not UTF-8 text: {error}") from error
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
    fields = keys_of(config)
    hints = typing.get_type_hints(config)
    chosen: dict[str, Any] = {}
    for key, text in values.items():
        field = fields.get(key)
        if field is not None:
            chosen[field.name] = _value(key, text, hints[field.name], field.metadata)
    return config(**{**chosen, **given})


def value_of(config: type[Any], key: str, text: str) -> Any:
    """One setting's value from its text; SettingsError when it cannot be used."""
    field = keys_of(config)[key]
    return _value(key, text, typing.get_type_hints(config)[field.name], field.metadata)


def unknown_keys(
    values: Mapping[str, str], configs: Iterable[type[Any]], also: Iterable[str] = ()
) -> list[str]:
    """A warning for each key that no config declares, with the nearest known name."""
    known = set(also)
    for config in configs:
        known |= keys_of(config).keys()
    warnings = []
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.8)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            warnings.append(f"unknown setting '{key}' is ignored: TriMQ does not have it{hint}")
    return warnings


def _value(key: str, text: str, hint: Any, metadata: Mapping[str, Any]) -> Any:
    kind = _plain_type(hint)
    value: Any = text
    if kind is bool:
        value = _boolean(key, text)
    elif kind is int:
        value = _integer(key, text)
    elif kind is float:
        value = _number(key, text)
    elif kind is Path:
        value = Path(text)
    elif kind is not str:
        parse = metadata.get("parse")
        if parse is None:
            raise SettingsError(f"setting '{key}' cannot be given as text")
        value = _parsed(key, text, parse)
    _check_limits(key, value, metadata)
    return value


def _plain_type(hint: Any) -> Any:
    """``int | None`` -> ``int``."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        plain = [part for part in typing.get_args(hint) if part is not type(None)]
        return plain[0] if len(plain) == 1 else None
    return hint


def _boolean(key: str, text: str) -> bool:
    lowered = text.strip().lower()
    if lowered not in ("true", "false"):
        raise SettingsError(f"{key}={text}: must be true or false")
    return lowered == "true"


def _integer(key: str, text: str) -> int:
    try:
        return int(text.strip())
    except ValueError:
        raise SettingsError(f"{key}={text}: must be a whole number") from None


def _number(key: str, text: str) -> float:
    try:
        return float(text.strip())
    except ValueError:
        raise SettingsError(f"{key}={text}: must be a number") from None


def _parsed(key: str, text: str, parse: Any) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        raise SettingsError(f"{key}={text}: {error}") from None


def _check_limits(key: str, value: Any, metadata: Mapping[str, Any]) -> None:
    choices = metadata.get("choices")
    if choices and value not in choices:
        raise SettingsError(f"{key}={value}: must be one of {', '.join(map(str, choices))}")
    low, high = metadata.get("at_least"), metadata.get("at_most")
    if low is not None and value < low:
        raise SettingsError(f"{key}={value}: must be at least {low}")
    if high is not None and value > high:
        raise SettingsError(f"{key}={value}: must be at most {high}")
