"""The real RocketMQ in containers, through testcontainers: filled in by ``launcher_or_none``."""

from __future__ import annotations

from compat_tests.real import Launcher


def launcher_or_none() -> Launcher | None:
    """None: no engine answers and none was asked for."""
    return None
