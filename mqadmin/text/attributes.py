"""Changes of attributes as users write them: `+key=value,-key` (AttributeParser)."""

import click

from trimq.mqadmin.text.java import string_map


def read_changes(text: str | None) -> dict[str, str]:
    """`+key` to its value, `-key` to nothing, in the order in which Java prints them.

    A usage error when it is written differently or names a key twice.
    """
    changes: dict[str, str] = {}
    for part in (text or "").split(","):
        if not part:
            continue
        key, separator, value = part.partition("=")
        if separator and (not key.startswith("+") or not value):
            raise click.UsageError(f"an attribute is set with +key=value, not with {part!r}")
        if not separator and not key.startswith("-"):
            raise click.UsageError(f"an attribute is removed with -key, not with {part!r}")
        if key in changes:
            raise click.UsageError(f"attribute {key!r} is named twice")
        changes[key] = value
    return string_map(changes)
