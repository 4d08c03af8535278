"""How long the offset reporter takes at the sizes that it is made for: ``python -m bench.offset_report``.

A snapshot of 200 groups in 500 topics of 16 queues, taken from a TriMQ that starts with these offsets, and
a report on a history of ten million rows. Writes into a temporary folder only.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from trimq.spark.offsets.history.history import append
from trimq.spark.offsets.snapshot.cluster import ClusterSource, snapshot
from trimq.spark.offsets.snapshot.table import joined, part

GROUPS, TOPICS, QUEUES = 200, 500, 16
# Snapshots that together have ten million rows.
SNAPSHOTS: Final = 7
MINUTE: Final = 60_000
TRIMQ: Final = (sys.executable, "-m", "trimq")


def prepare(store: Path) -> None:
    """The files of a broker that knows all topics, groups and offsets."""
    config = store / "config"
    config.mkdir(parents=True)
    usual: dict[str, Any] = {
        "readQueueNums": QUEUES,
        "writeQueueNums": QUEUES,
        "perm": 6,
        "order": False,
    }
    usual |= {"topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "attributes": {}}
    version = {"counter": 1, "timestamp": 1, "stateVersion": 0}
    topics = {f"Topic{n}": {"topicName": f"Topic{n}", **usual} for n in range(TOPICS)}
    groups = {f"Group{n}": {"groupName": f"Group{n}"} for n in range(GROUPS)}
    zeros = {str(queue_id): 0 for queue_id in range(QUEUES)}
    offsets = {f"{topic}@{group}": zeros for topic in topics for group in groups}
    files: dict[str, dict[str, Any]] = {
        "topics": {"topicConfigTable": topics},
        "subscriptionGroup": {"subscriptionGroupTable": groups, "forbiddenTable": {}},
        "consumerOffset": {"offsetTable": offsets},
    }
    for name, value in files.items():
        (config / f"{name}.json").write_text(json.dumps({"dataVersion": version, **value}))


@contextmanager
def serving(store: Path) -> Iterator[str]:
    """The NameServer's address."""
    command = [*TRIMQ, "server", "--store", str(store), "--log-level", "error"]
    ports = ["--listen", "127.0.0.1:0", "--namesrv-listen", "127.0.0.1:0"]
    with subprocess.Popen([*command, *ports], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            ready = re.search(r"namesrv=(\S+)", server.stdout.readline())
            assert ready, "TriMQ did not start"
            yield ready[1]
        finally:
            server.terminate()


def write_history(folder: Path) -> int:
    """Every fiftieth queue is stuck; how many rows there are."""
    names = [f"Topic{n // QUEUES}" for n in range(TOPICS * QUEUES)]
    ids = [n % QUEUES for n in range(TOPICS * QUEUES)]
    chance = random.Random(1)
    highs = [chance.randrange(1000, 100_000) for _ in names]
    rows = 0
    for number in range(SNAPSHOTS):
        taken = 1_790_000_000_000 + MINUTE * number
        ends = [high + 100 * number for high in highs]
        queues: dict[str, Any] = {"cluster": "c", "brokerName": "b", "topic": names, "queueId": ids}
        queues |= {"minOffset": 0, "maxOffset": ends}
        parts = [part(taken, taken, queues)]
        for group in range(GROUPS):
            committed = [
                high - (group * 7 + at) % 900 + (100 * number if at % 50 else 0)
                for at, high in enumerate(highs)
            ]
            mine = {"consumerGroup": f"Group{group}", "committed": committed, "members": 1}
            delays = [end - one for end, one in zip(ends, committed, strict=True)]
            parts.append(part(taken, taken, {**queues, **mine, "delayMillis": delays}))
        append(folder, joined(parts))
        rows += sum(one.num_rows for one in parts)
    return rows


def main() -> None:
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}")
    with TemporaryDirectory(prefix="trimq-bench-") as folder:
        prepare(Path(folder) / "store")
        with serving(Path(folder) / "store") as namesrv:
            began = time.monotonic()
            table = snapshot(ClusterSource(name_servers=namesrv)).table
            print(f"snapshot of {table.num_rows:,} rows: {time.monotonic() - began:.1f} s")
        history = Path(folder) / "history"
        rows = write_history(history)
        results = [f"--html={folder}/page.html", f"--prometheus={folder}/metrics", "--quiet"]
        began = time.monotonic()
        subprocess.run([*TRIMQ, "offsets", "report", f"--history={history}", *results], check=True)
        print(f"report on a history of {rows:,} rows: {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main()
