"""A process killed with -9 in the middle of its work, again and again, over one directory."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

from trimq.codec.records.multi_dispatch import light_places
from trimq.codec.records.record import parse_record
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message

ROUNDS = 4
WRITER = textwrap.dedent(
    """
    import sys, threading
    from pathlib import Path
    from trimq.store.config import StoreConfig
    from trimq.store.messages.message import Message
    from trimq.store.message_store import MessageStore

    store = MessageStore(StoreConfig(
        root=Path(sys.argv[1]), mapped_file_size_commit_log=65536,
        mapped_file_size_consume_queue=2000), lambda: 1)
    store.open()

    def flush():
        while True:
            store.flush()

    threading.Thread(target=flush, daemon=True).start()
    number = 0
    while True:
        acknowledged = []
        for _ in range(number % 5 + 1):
            body = b"%d-%d" % (int(sys.argv[2]), number)
            where = store.stage(Message("T", number % 3, body * (number % 40 + 1)))
            acknowledged.append(f"{number % 3} {where.queue_offset} {body.decode()} {number % 40 + 1}")
            number += 1
        store.write_staged()
        print("\\n".join(acknowledged), flush=True)
        if number % 7 == 0:
            store.write_derived()
        if number % 50 == 0:
            store.plan_checkpoint().run()
    """
)


def run_and_kill(root: Path, number: int, lines: int, writer: str = WRITER) -> list[str]:
    """Every line the writer had said when it was killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", writer, str(root), str(number)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
        text=True,
    )
    assert process.stdout is not None
    said = [process.stdout.readline() for _ in range(lines)]
    process.send_signal(signal.SIGKILL)
    said += process.stdout.read().splitlines(keepends=True)
    process.stdout.close()
    process.wait()
    return [line.strip() for line in said if line.endswith("\n")]


def test_everything_acknowledged_survives_kill_9(tmp_path, bench, times):
    rounds = ROUNDS * times
    acknowledged: list[str] = []
    for number in range(rounds):
        acknowledged += run_and_kill(tmp_path / "store", number, 150 + 170 * (number % 7))
    store = bench.open(mapped_file_size_commit_log=65536, mapped_file_size_consume_queue=2000)
    bodies = [bench.bodies(store, queue_id=queue_id) for queue_id in range(3)]
    for line in acknowledged:
        queue_id, offset, body, times = line.split()
        assert bodies[int(queue_id)][int(offset)] == body.encode() * int(times)
    # The last write may be there without its acknowledgement; nothing else, and nothing twice.
    assert len(acknowledged) <= sum(map(len, bodies)) <= len(acknowledged) + 5 * rounds


def test_flushing_beside_appending(tmp_path):
    store = MessageStore(
        StoreConfig(root=tmp_path, mapped_file_size_commit_log=4096, open_files=4), lambda: 1
    )
    store.open()
    ended = threading.Event()

    def flush() -> None:
        while not ended.is_set():
            store.flush()

    thread = threading.Thread(target=flush)
    thread.start()
    for number in range(2000):
        store.put(Message("T", 0, b"%d" % number * 50))
    ended.set()
    thread.join()
    assert store.flush() == store.max_physical_offset
    assert store.max_offset("T", 0) == 2000
    # Synced files are closed, but for the one in use.
    store.put(Message("T", 0, bytes(3000)))
    store.put(Message("T", 0, bytes(3000)))
    assert sum(segment.fd >= 0 for segment in store._log.segments) <= 3
    store.close()


LIGHT_WRITER = (
    WRITER.replace(
        "mapped_file_size_consume_queue=2000)",
        "mapped_file_size_consume_queue=2000, enable_lmq=True, enable_multi_dispatch=True)",
    )
    .replace(
        'Message("T", number % 3, body * (number % 40 + 1))',
        'Message("T", number % 3, body * (number % 40 + 1), b"INNER_MULTI_DISPATCH\\x01" + NAMES[number % 7])',
    )
    .replace(
        "import sys, threading",
        'import sys, threading\nNAMES = [b",".join(b"%LMQ%" + b"%d" % n for n in range(k)) or b"-" for k in range(7)]',
    )
)


def test_light_queues_survive_kill_9(tmp_path, bench, times):
    """What was acknowledged is in each light queue that it names, once and in its order."""
    rounds = ROUNDS * times
    acknowledged: list[str] = []
    for number in range(rounds):
        lines = 150 + 170 * (number % 3)
        acknowledged += run_and_kill(tmp_path / "store", number, lines, LIGHT_WRITER)
    store = bench.open(
        mapped_file_size_commit_log=65536,
        mapped_file_size_consume_queue=2000,
        enable_lmq=True,
        enable_multi_dispatch=True,
    )
    for light in range(6):
        queue = f"%LMQ%{light}"
        found = []
        for offset in range(store.max_offset(queue, 0)):
            entry = store.queue_entry(queue, 0, offset)
            record = parse_record(store.record_at(entry.physical_offset))
            assert (queue, offset) in light_places(record.properties)
            found.append(record.body)
        bodies = [
            body.encode() * int(count)
            for _, _, body, count in (line.split() for line in acknowledged)
            if int(body.split("-")[1]) % 7 > light
        ]
        assert len(bodies) > ROUNDS
        left = iter(found)
        assert all(body in left for body in bodies)
        assert len(found) <= len(bodies) + 5 * rounds
