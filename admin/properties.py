"""Java's property files, as servers send and take their settings (MixAll.string2Properties)."""

from collections.abc import Mapping


def read_properties(text: str) -> dict[str, str]:
    """`key=value` lines; blank ones and comments are passed over, a backslash stands for itself."""
    pairs = (line.partition("=") for line in text.splitlines() if not line.startswith("#"))
    return {key.strip(): value.strip() for key, separator, value in pairs if separator}


def write_properties(settings: Mapping[str, str]) -> bytes:
    """`key=value` lines in UTF-8."""
    return "".join(f"{key}={value}\n" for key, value in settings.items()).encode()
