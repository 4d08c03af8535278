"""Where TriMQ answers otherwise on purpose, and why. Everything else must be equal."""

from __future__ import annotations

from typing import Final

DELIBERATE: Final[dict[str, str]] = {}
