"""Declaring a setting once: name, type, default, limits and what it does.

A setting is a field of a frozen dataclass. Its RocketMQ key is the field's name in camelCase unless
the declaration names another; trimq/settings.py reads files and flags by these declarations, and
docs/settings.md is generated from them.
"""

from collections.abc import Callable
from dataclasses import field
from typing import Any


def setting(default: Any, doc: str, **limits: Any) -> Any:
    """A field with its documentation and limits: at_least, at_most, choices, key (the exact name)."""
    return field(default=default, metadata={"doc": doc, **limits})


def computed_setting(factory: Callable[[], Any], doc: str, **limits: Any) -> Any:
    """A field whose default is known only on the machine."""
    return field(default_factory=factory, metadata={"doc": doc, **limits})
