"""Processes of official clients: a producer of numbers by key, and members of orderly groups that can be killed."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from compat_tests.elastic import journals
from compat_tests.elastic.journals import Order, Seen
from compat_tests.scenarios import go_driver
from compat_tests.servers import artifacts

FOLDER: Final = Path(__file__).parent
GO: Final = "go-2.1.2"
RARE_EVERY: Final = 10
"""Every so many keys one has the tag "rare"."""


def go_program(name: str) -> str:
    """A program of this folder with the Go client; built once."""
    versions = [go_driver.SOURCES / "go.mod", go_driver.SOURCES / "go.sum"]
    return str(go_driver.binary([FOLDER / f"{name}.go", FOLDER / "selecting.go", *versions]))


def command(client: str) -> list[str]:
    """What starts Member.java or member.go with a client; compiled once."""
    if client == GO:
        return [go_program("member")]
    path = artifacts.program(f"elastic-{client}", client, [FOLDER / "Member.java"])
    return ["java", "-Xms64m", "-Xmx256m", "-cp", path, "Member"]


class Played:
    """One topic's producer and members, all with the same client."""

    def __init__(self, client: str, namesrv: str, topic: str, folder: Path) -> None:
        """`folder` gets the journals and what processes print; its name is of this topic alone."""
        self.client = client
        self.topic = topic
        self._namesrv = namesrv
        self._folder = folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        folder.mkdir(parents=True)
        # Who lags waits for this file.
        self.lifted = folder / "lifted"

    def send(self, keys: int, pause_millis: int, least: int) -> None:
        self._start(
            "sender", ["send", self._namesrv, self.topic, *map(str, (keys, pause_millis, least))]
        )

    def take(self, member: str, *groups: str, namesrv: str | None = None) -> None:
        """`groups`: GROUP:TAG:FILE, see Member.java."""
        journal = self._folder / f"{member}.journal"
        journal.touch()
        words = [
            "take",
            namesrv or self._namesrv,
            self.topic,
            str(journal),
            f"{self.topic}{member}",
        ]
        self._start(member, [*words, *groups])

    def kill(self, name: str) -> None:
        """As kill -9 does."""
        process = self._running.pop(name)
        process.kill()
        process.wait()
        if process.stdin is not None:
            process.stdin.close()

    def leave(self, name: str, seconds: float = 120) -> str:
        """It ends by itself, in order; what it has printed."""
        process = self._running.pop(name)
        assert process.stdin is not None
        process.stdin.close()
        try:
            code = process.wait(seconds)
        finally:
            process.kill()
        text = self._output(name).read_text()
        assert code == 0, f"{self.client}: {name} ended with {code}: {text[-3000:]}"
        return text

    def sent(self, seconds: float) -> dict[str, int]:
        """Key -> how many numbers of it were sent; the producer ends."""
        numbers: list[int] = json.loads(self.leave("sender", seconds).splitlines()[-1])
        return {f"key-{key}": count for key, count in enumerate(numbers)}

    def calls(self, group: str) -> list[Seen]:
        return [
            one
            for one in journals.read(sorted(self._folder.glob("*.journal")))
            if one.group == group
        ]

    def order(self, group: str, sent: Mapping[str, int], seconds: float) -> Order:
        """What the group saw: of all messages, or after so many seconds."""
        deadline = time.monotonic() + seconds
        while True:
            found = journals.order(self.calls(group), sent)
            if not found.missing or time.monotonic() > deadline:
                return found
            time.sleep(2)

    def end(self) -> None:
        for name in list(self._running):
            self.kill(name)

    def _output(self, name: str) -> Path:
        return self._folder / f"{name}.txt"

    def _start(self, name: str, words: Sequence[str]) -> None:
        with self._output(name).open("wb") as sink:
            self._running[name] = subprocess.Popen(
                [*command(self.client), *words], stdin=subprocess.PIPE, stdout=sink, stderr=sink
            )


def expected(sent: Mapping[str, int], group: str) -> dict[str, int]:
    """What a group is to get: all, or the rare keys."""
    if group != "tagged":
        return dict(sent)
    return {f"key-{key}": sent[f"key-{key}"] for key in range(0, len(sent), RARE_EVERY)}
