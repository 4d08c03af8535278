"""The servers that run on this machine under the same user, as Linux lists processes."""

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PROCESSES: Final = Path("/proc")
KINDS: Final = ("server", "namesrv", "proxy")
# What the kernel puts first where programs of another processor are emulated: QEMU in its names, and Rosetta.
_EMULATOR: Final = re.compile(r"qemu-.+|.+-binfmt(-P)?|rosetta")


@dataclass(frozen=True, slots=True)
class Running:
    """One server: `kind` is the command of `trimq`, `words` what follows it."""

    pid: int
    kind: str
    words: tuple[str, ...]

    def option(self, flag: str) -> str | None:
        """The value that stands behind a flag, the last one if there are several."""
        for place in range(len(self.words) - 2, -1, -1):
            if self.words[place] == flag:
                return self.words[place + 1]
        return None


def running_servers(root: Path = _PROCESSES) -> Iterator[Running]:
    """All that can be seen, in the order of their numbers."""
    for folder in sorted((one for one in root.glob("[0-9]*")), key=lambda one: int(one.name)):
        try:
            line = (folder / "cmdline").read_bytes()
        except OSError:
            # It has ended by now.
            continue
        words = line.decode(errors="surrogateescape").split("\0")[:-1]
        found = _server(words)
        if found is not None:
            yield Running(int(folder.name), *found)


def seconds_since_start(pid: int, root: Path = _PROCESSES) -> float:
    """How long a process is there; endless when it has ended, or when nothing is known of it."""
    try:
        up = float((root / "uptime").read_text().split()[0])
        # The name before may hold anything; field 22 are ticks between the machine's start and the process's.
        fields = (root / str(pid) / "stat").read_text().rpartition(")")[2].split()
        return up - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return math.inf


def _server(words: list[str]) -> tuple[str, tuple[str, ...]] | None:
    """Of `python -m trimq KIND ...` and of `python .../trimq KIND ...`."""
    if words and _EMULATOR.fullmatch(Path(words[0]).name):
        # Then comes the program's path, and often once more how it was called.
        words = words[1:]
    if not words or not Path(words[0]).name.startswith("python"):
        return None
    for place in range(1, min(len(words) - 1, 5)):
        if Path(words[place]).name == "trimq" and words[place + 1] in KINDS:
            return words[place + 1], tuple(words[place + 2 :])
    return None
