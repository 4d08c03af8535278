"""A headless Chromium that is asked over two pipes: what a page fetches, says and draws, at any width."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from compat_tests.servers.processes import free_port

PATIENCE: Final = 180.0
NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Where Chromium reads commands and writes answers, by --remote-debugging-pipe.
_READS, _WRITES = 3, 4
_EVENTS: Final = ("Page", "Runtime", "Log", "Network")


def find() -> str | None:
    """The browser's path."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@dataclass
class Seen:
    """What a page asked for, and what it or the browser complained about."""

    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


class Page:
    """One tab."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.call(method, parameters, self._session)

    def open(self, url: str, width: int, height: int = 844) -> Seen:
        """Load a page as a phone or a desktop of that width would; what happened meanwhile."""
        for name in _EVENTS:
            self.call(f"{name}.enable")
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **screen)
        self._browser.events.clear()
        self.call("Page.navigate", url=url)
        self._browser.wait_for("Page.loadEventFired")
        return self.seen()

    def seen(self) -> Seen:
        """Since the page was opened."""
        found = Seen()
        for event in self._browser.events:
            kind, data = event["method"], event.get("params", {})
            if kind == "Network.requestWillBeSent":
                found.asked.append(data["request"]["url"])
            elif kind == "Runtime.exceptionThrown":
                found.complaints.append(json.dumps(data["exceptionDetails"]))
            elif kind == "Log.entryAdded":
                found.complaints.append(data["entry"]["text"])
            elif kind == "Runtime.consoleAPICalled":
                found.complaints.append(json.dumps(data["args"]))
        return found

    def value(self, expression: str) -> Any:
        """Of a JavaScript expression, or of what it promises."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def screenshot(self) -> str:
        """The whole page as a PNG in base64."""
        return str(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"])


class Browser:
    """A running Chromium."""

    def __init__(self, writes: int, reads: int) -> None:
        self._writes = writes
        self._reads = reads
        self._buffer = b""
        self._next = 0
        self.events: list[dict[str, Any]] = []

    def page(self) -> Page:
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        where = {"targetId": target, "flatten": True}
        return Page(self, self.call("Target.attachToTarget", where)["sessionId"])

    def call(
        self, method: str, parameters: dict[str, Any], session: str | None = None
    ) -> dict[str, Any]:
        self._next += 1
        request: dict[str, Any] = {"id": self._next, "method": method, "params": parameters}
        if session is not None:
            request["sessionId"] = session
        os.write(self._writes, json.dumps(request).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            message = self._receive(deadline)
            if message.get("id") == self._next:
                assert "error" not in message, f"{method}: {message['error']}"
                result: dict[str, Any] = message["result"]
                return result
            self.events.append(message)

    def wait_for(self, method: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self._receive(deadline))

    def _receive(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            left = max(0.0, deadline - time.monotonic())
            assert select.select([self._reads], [], [], left)[0], "the browser does not answer"
            data = os.read(self._reads, 1 << 16)
            assert data, "the browser has ended"
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message


@contextmanager
def browser(path: str, folder: Path) -> Iterator[Browser]:
    """Starts it with a profile in the folder. It reaches nobody: its proxy is a port where nobody listens."""
    commands, answers = os.pipe(), os.pipe()
    # Above the two numbers that they get in the browser, so that neither takes the other's place.
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (commands[0], answers[1])]
    with (folder / "browser.log").open("wb") as log:
        process = subprocess.Popen(
            [
                *("bash", "-c", f'exec "$0" "$@" {_READS}<&{ends[0]} {_WRITES}>&{ends[1]}', path),
                *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
                *(f"--user-data-dir={folder / 'profile'}", "--remote-debugging-pipe"),
                *("--disable-background-networking", f"--proxy-server=127.0.0.1:{free_port()}"),
                *("--proxy-bypass-list=<-loopback>", "--no-first-run", "about:blank"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=ends,
        )
    for end in (commands[0], answers[1], *ends):
        os.close(end)
    made = Browser(commands[1], answers[0])
    try:
        yield made
        made.call("Browser.close", {})
    finally:
        os.close(commands[1])
        os.close(answers[0])
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
