"""How long a store takes to open after kill -9 under full load: ``python -m bench.recovery``.

A store of ``--gib`` is written as files (bench.store.bulk; ``--put`` puts every message instead, which
takes a quarter of an hour for 20 GiB). Then a child process opens it and writes for ``--seconds`` as fast
as it can, with flushes, consume queues, index and checkpoints at a server's intervals. It is killed in the
middle of that. What is timed is ``MessageStore.open`` in a fresh process, and then a whole server up to its
ready line. ``--cold`` drops the page cache before (needs root).
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from bench.store.bulk import BulkStore
from trimq.compiled import MODE
from trimq.store.config import StoreConfig
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message

BATCH = 32
PROPERTIES = b"UNIQ_KEY\x01%032X\x02WAIT\x01true\x02TAGS\x01TagA\x02"
GIB = 1 << 30


def now_millis() -> int:
    return time.time_ns() // 1_000_000


class Filler:
    """Writes until it is killed; says "full" when the store has its size."""

    def __init__(self, root: Path, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self._config = StoreConfig(root=root)
        self._store = MessageStore(self._config, now_millis)
        self._noise = os.urandom(arguments.body * 4096)
        self._number = 0

    def run(self) -> None:
        self._store.open()
        threading.Thread(target=self._flush, daemon=True).start()
        goal = int(self._arguments.gib * GIB)
        derived_at = checkpoint_at = time.monotonic()
        checkpoint_end = 0
        told = False
        while True:
            for _ in range(16):
                self._send()
            written = self._store.max_physical_offset
            if not told and written >= goal:
                told = True
                print("full", flush=True)
            if time.monotonic() - derived_at >= self._config.flush_interval_consume_queue / 1000:
                derived_at = time.monotonic()
                while self._store.write_derived():
                    pass
                due = derived_at - checkpoint_at >= (
                    self._config.flush_consume_queue_thorough_interval / 1000
                )
                if due or written - checkpoint_end >= self._config.recovery_bytes:
                    checkpoint_at, checkpoint_end = derived_at, written
                    plan = self._store.plan_checkpoint()
                    threading.Thread(target=plan.run, daemon=True).start()

    def _send(self) -> None:
        size = self._arguments.body
        for _ in range(BATCH):
            number = self._number = self._number + 1
            at = number * 61 % (len(self._noise) - size + 1)
            queue = number % (self._arguments.topics * 4)
            self._store.stage(
                Message(
                    f"Recovery{queue // 4}",
                    queue % 4,
                    self._noise[at : at + size],
                    PROPERTIES % number,
                )
            )
        self._store.write_staged()

    def _flush(self) -> None:
        while True:
            time.sleep(self._config.flush_interval_commit_log / 1000)
            self._store.flush()


def open_store(root: Path) -> None:
    """In a fresh process: the figures of one opening."""
    store = MessageStore(StoreConfig(root=root), now_millis)
    began = time.monotonic()
    try:
        report = store.open()
    except StoreError as error:
        raise SystemExit(f"the store does not open: {error}") from error
    seconds = time.monotonic() - began
    # As after a kill: the next opening finds the same.
    store.abandon()
    print(
        f"open ({MODE}): {seconds:.2f} s for {report.end / GIB:.2f} GiB, {report.records} records scanned, "
        f"{report.entries} entries, {report.dropped} bytes dropped"
    )


def start_server(root: Path) -> None:
    """A whole server up to its ready line, then a clean stop."""
    command = [sys.executable, "-m", "trimq", "server", "--listen", "127.0.0.1:0"]
    command += ["--namesrv-listen", "127.0.0.1:0", "--store", str(root)]
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        seconds = time.monotonic() - began
        server.send_signal(signal.SIGTERM)
    if not line.startswith(b"TriMQ ready"):
        raise SystemExit("the server did not start")
    print(f"server ready: {seconds:.2f} s")


def build(root: Path, arguments: argparse.Namespace) -> None:
    """One long queue, up to the wanted size."""
    body = os.urandom(arguments.body)
    bulk = BulkStore(StoreConfig(root=root), "Bulk", body, now_millis() - 86_400_000)
    bulk.grow(int(arguments.gib * GIB / bulk.record_size))


def measure(root: Path, arguments: argparse.Namespace) -> None:
    if not arguments.put:
        build(root, arguments)
    own = [sys.executable, "-m", "bench.recovery", "--body", str(arguments.body)]
    own += ["--gib", str(arguments.gib), "--topics", str(arguments.topics), "--store", str(root)]
    with subprocess.Popen([*own, "--step", "fill"], stdout=subprocess.PIPE) as filler:
        assert filler.stdout is not None
        if filler.stdout.readline() != b"full\n":
            raise SystemExit("the store could not be filled")
        time.sleep(arguments.seconds)
        filler.kill()
    if arguments.cold:
        os.sync()
        Path("/proc/sys/vm/drop_caches").write_text("3")
    subprocess.run([*own, "--step", "open"], check=True)
    start_server(root)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=float, default=1)
    parser.add_argument("--body", type=int, default=128)
    parser.add_argument("--topics", type=int, default=1, help="of four queues each")
    parser.add_argument("--seconds", type=float, default=60, help="of load before the kill")
    parser.add_argument("--store", type=Path, help="an empty or new folder; default: temporary")
    parser.add_argument("--put", action="store_true", help="put the first --gib, too")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--step", choices=("fill", "open"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step == "fill":
        Filler(arguments.store, arguments).run()
    elif arguments.step == "open":
        open_store(arguments.store)
    else:
        root = arguments.store or Path(tempfile.mkdtemp(prefix="trimq-recovery-"))
        try:
            measure(root, arguments)
        finally:
            if arguments.store is None:
                shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
