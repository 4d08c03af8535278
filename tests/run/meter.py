"""A plugin of pytest: what each unit test waits by the clock, and an error where no reason for it stands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clock import Clocks, watch
from tests.run import slow


class Meter:
    """The error comes at the end of the test, and all that waited for long are listed at the end of the session."""

    def __init__(self) -> None:
        self._clocks = Clocks()
        self.waited: dict[str, float] = {}
        watch(self._clocks, pytest.MonkeyPatch())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        self._clocks.clear()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[None]:
        result = yield
        seconds = self._clocks.seconds * self._clocks.haste
        if slow.of_a_unit(item.nodeid) and seconds > slow.MOST_SECONDS:
            self.waited[item.nodeid] = seconds
        if (said := slow.complaint(item.nodeid, seconds)) and not item.config.getoption("--soak"):
            pytest.fail(said, pytrace=False)
        return result

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.waited:
            terminalreporter.section(f"waited by the clock for more than {slow.MOST_SECONDS} s")
        for name, seconds in sorted(self.waited.items(), key=lambda one: -one[1]):
            why = slow.SLOW.get(slow.of_a_unit(name) or "", "NO REASON")
            terminalreporter.line(f"{seconds:6.2f} s  {name}: {why}")
