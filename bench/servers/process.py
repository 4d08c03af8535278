"""What the kernel says of a process: CPU time, anonymous memory, threads (proc(5))."""

import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_SAMPLES = 5


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU in seconds, RssAnon in MiB (mapped file pages are not the program's own), threads."""

    cpu_seconds: float
    anonymous_mib: float
    threads: int


def usage(pid: int) -> Usage:
    """The figures of a running process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    return Usage(
        cpu_seconds=(int(fields[11]) + int(fields[12])) / _TICKS,
        anonymous_mib=int(status["RssAnon"].split()[0]) / 1024,
        threads=int(status["Threads"]),
    )


def settled_anonymous_mib(pid: int) -> float:
    """RssAnon in MiB: the median of a few looks, for what comes and goes."""
    found = []
    for _ in range(_SAMPLES):
        found.append(usage(pid).anonymous_mib)
        time.sleep(0.2)
    return statistics.median(found)
