"""Record golden bytes from the real RocketMQ 5.5.0 into tests/vectors/.

    python -m compat_tests.golden.record [--lib DIR] [--out tests/vectors]

It starts a real NameServer and broker, lets the official Java client (Golden.java) talk to them
through recording proxies, stops them in order and cuts frames, commit-log records and small
files out of what was left. It does so twice: with the JSON and with the ROCKETMQ header coding.
The proxies can stand between because the broker listens on 127.0.0.1 only while it tells clients
127.0.0.2, where the proxy has the same port.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from compat_tests.servers import artifacts
from compat_tests.wire import frames, records
from compat_tests.wire.frames import Frame
from tests.patience import until

HERE: Final = Path(__file__).parent
DEFAULT_LIB: Final = artifacts.cache_root() / artifacts.SERVER / "lib"
DEFAULT_OUT: Final = HERE.parents[1] / "tests" / "vectors"
SERVER: Final = "127.0.0.1"
PROXY: Final = "127.0.0.2"
LARGEST_FRAME: Final = 12_000
SAME_SHAPE: Final = 2
RECORDS_PER_TOPIC: Final = 12
LOG_HEAD: Final = 12_000
SEND_MESSAGE: Final = 10
POP_MESSAGE: Final = 200050

JVM_OPTIONS: Final = {
    "NamesrvStartup": ["-Xmx256m", "-XX:+UseSerialGC"],
    "BrokerStartup": ["-Xms512m", "-Xmx512m", "-XX:MaxDirectMemorySize=512m", "-XX:+UseSerialGC"],
}


class Way(NamedTuple):
    """One direction of one recorded connection."""

    server: str
    connection: int
    direction: str


@dataclass(slots=True)
class Recording:
    """Every frame that crossed a proxy, in order of arrival."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    seen: list[tuple[Way, bytes]] = field(default_factory=list)

    def add(self, way: Way, frame: bytes) -> None:
        with self.lock:
            self.seen.append((way, frame))


def free_port() -> int:
    """A port whose neighbours for the fast listener (-2) and for replication (+1) are free too."""
    while True:
        with socket.create_server((SERVER, 0)) as probe:
            port: int = probe.getsockname()[1]
        try:
            for neighbour in (port - 2, port + 1):
                socket.create_server((SERVER, neighbour)).close()
        except OSError:
            continue
        return port


def proxy(server: str, listen_port: int, target_port: int, recording: Recording) -> None:
    """Pass everything that comes to 127.0.0.2:listen_port on to 127.0.0.1:target_port."""
    listener = socket.create_server((PROXY, listen_port))

    def accept() -> None:
        while True:
            client, (_, number) = listener.accept()
            upstream = socket.create_connection((SERVER, target_port))
            for source, sink, direction in (
                (client, upstream, "to-server"),
                (upstream, client, "from-server"),
            ):
                way = Way(server, number, direction)
                arguments = (source, sink, way, recording)
                threading.Thread(target=copy, args=arguments, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def copy(source: socket.socket, sink: socket.socket, way: Way, recording: Recording) -> None:
    """Forward bytes and cut them into frames on the side."""
    pending = b""
    try:
        while data := source.recv(65536):
            pending += data
            while len(pending) >= 4:
                (length,) = struct.unpack_from(">I", pending)
                if len(pending) < 4 + length:
                    break
                recording.add(way, pending[: 4 + length])
                pending = pending[4 + length :]
            sink.sendall(data)  # Only now, so that no reply is seen before its request.
    except OSError:
        return  # Either end has gone: the other one is told below.
    finally:
        for end in (source, sink):
            end.close()


@contextmanager
def server(
    lib: Path, home: Path, name: str, arguments: list[str], options: list[str]
) -> Iterator[None]:
    """One server JVM, ready on entry, stopped in order on exit."""
    log = home / f"{name}.out"
    package = "namesrv" if name.startswith("Namesrv") else "broker"
    java = ["java", *JVM_OPTIONS[name], *options, f"-Duser.home={home}", "-cp", f"{lib}/*"]
    with log.open("w") as out:
        process = subprocess.Popen(
            [*java, f"org.apache.rocketmq.{package}.{name}", *arguments],
            stdout=out,
            stderr=subprocess.STDOUT,
            env=os.environ | {"ROCKETMQ_HOME": str(home)},
        )
    try:
        deadline = time.monotonic() + 60
        while "boot success" not in log.read_text():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{name} did not start:\n{log.read_text()}")
            time.sleep(0.1)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def run(lib: Path, home: Path, coding: str, classes: Path) -> tuple[Recording, Path]:
    """One recording session; the store it leaves behind is that of a clean stop."""
    recording = Recording()
    (home / "conf").mkdir(parents=True)
    namesrv_port, broker_port = free_port(), free_port()
    namesrv_conf, broker_conf = home / "namesrv.conf", home / "broker.conf"
    write_properties(
        namesrv_conf,
        {
            "listenPort": namesrv_port,
            "bindAddress": SERVER,
            "kvConfigPath": home / "kvConfig.json",
            "configStorePath": home / "namesrv.properties",
        },
    )
    proxy("namesrv", namesrv_port, namesrv_port, recording)
    proxy("broker", broker_port, broker_port, recording)
    proxy("broker", broker_port - 2, broker_port - 2, recording)
    store = home / "store"
    write_properties(
        broker_conf,
        {
            "brokerClusterName": "DefaultCluster",
            "brokerName": "broker-a",
            "brokerId": 0,
            "namesrvAddr": f"{PROXY}:{namesrv_port}",
            "brokerIP1": PROXY,
            "brokerIP2": PROXY,
            "bindAddress": SERVER,
            "listenPort": broker_port,
            "storePathRootDir": store,
            "storePathCommitLog": store / "commitlog",
            "enablePropertyFilter": "true",
        },
    )
    options = [f"-Drocketmq.serialize.type={coding}"]
    with (
        server(lib, home, "NamesrvStartup", ["-c", str(namesrv_conf)], options),
        server(lib, home, "BrokerStartup", ["-c", str(broker_conf)], options),
    ):
        client = ["java", "-Xmx256m", *options, f"-Duser.home={home}", "-cp", f"{classes}:{lib}/*"]
        client += ["Golden", f"{PROXY}:{namesrv_port}", f"{PROXY}:{broker_port}"]
        subprocess.run(client, check=True, timeout=180, stdout=subprocess.DEVNULL)
        provoke_wide_record(broker_port)
        wait_for_wide_record(store)
    return recording, store


def write_properties(path: Path, values: dict[str, object]) -> None:
    path.write_text("".join(f"{key}={value}\n" for key, value in values.items()))


def provoke_wide_record(broker_port: int) -> None:
    """Make the broker write a V2 record.

    Only a POP retry topic, %RETRY%group_topic, is longer than a V1 record's topic length can say.
    """
    topic, group = "GoldenLong" + "T" * 80, "GoldenLong" + "G" * 80
    sending = {
        "producerGroup": "GoldenProducer",
        "topic": topic,
        "defaultTopic": "TBW102",
        "defaultTopicQueueNums": "1",
        "queueId": "0",
        "sysFlag": "0",
        "bornTimestamp": "1700000000000",
        "flag": "0",
        "properties": records.property_text({"TAGS": "TagA"}),
    }
    popping = {
        "consumerGroup": group,
        "topic": topic,
        "queueId": "0",
        "maxMsgNums": "1",
        "invisibleTime": "10000",
        "pollTime": "1000",
        "bornTime": str(int(time.time() * 1000)),
        "initMode": "0",
        "expType": "TAG",
        "exp": "*",
    }
    with socket.create_connection((PROXY, broker_port)) as connection:
        for opaque, (code, ext) in enumerate(((SEND_MESSAGE, sending), (POP_MESSAGE, popping))):
            frame = Frame(code, opaque=opaque, ext=ext, body=b"popped and never acknowledged")
            connection.sendall(frames.encode(frame))
            connection.recv(65536)
            time.sleep(1)


def wait_for_wide_record(store: Path) -> None:
    """Un-acknowledged, the message comes back on its retry topic after its invisible time."""
    until(
        lambda: any(record.magic == records.MAGIC_V2 for record in log_records(store)),
        "a record with a wide topic length",
        pause=1,
    )


def log_records(store: Path) -> Iterator[records.Record]:
    """The first MiB of the log, record by record."""
    log = sorted((store / "commitlog").iterdir())[0].open("rb").read(1 << 20)
    at = 0
    while at + 8 < len(log):
        size, magic = struct.unpack_from(">iI", log, at)
        if magic not in (records.MAGIC_V1, records.MAGIC_V2):
            return
        yield records.read_record(log, at)
        at += size


def choose_frames(recording: Recording, coding: str) -> list[dict[str, Any]]:
    """At most two frames of a shape: same server, direction, code, field names and answer."""
    chosen: dict[tuple[object, ...], list[dict[str, Any]]] = {}
    requested: dict[tuple[Way, int], int] = {}
    for way, raw in recording.seen:
        server, connection, direction = way
        frame = frames.decode(raw[4:])
        if frame.is_response:
            back = "from-server" if direction == "to-server" else "to-server"
            answers = requested[Way(server, connection, back), frame.opaque]
        else:
            answers = frame.code
            requested[way, frame.opaque] = frame.code
        kind = (server, direction, frame.is_response, answers, frame.code, tuple(sorted(frame.ext)))
        same = chosen.setdefault(kind, [])
        if len(raw) > LARGEST_FRAME or len(same) == SAME_SHAPE:
            continue
        what = f"reply {frame.code} to {answers}" if frame.is_response else f"request {frame.code}"
        name = f"{coding} {direction} {server}: {what} [{'+'.join(sorted(frame.ext))}] #{len(same)}"
        same.append({"name": name, "hex": raw.hex()})
    return [entry for entries in chosen.values() for entry in entries]


def describe(record: records.Record) -> str:
    names = "+".join(sorted(records.read_properties(record.properties)))
    kind = {records.MAGIC_V1: "v1", records.MAGIC_V2: "v2"}[record.magic]
    place = f"{record.topic[:40]}/{record.queue_id}@{record.queue_offset}"
    return f"{kind} {place} sys={record.sys_flag} {names}"


def choose_records(store: Path, coding: str) -> list[dict[str, Any]]:
    """A few records of every topic, from the log as it lies on disk."""
    log = sorted((store / "commitlog").iterdir())[0].open("rb").read(1 << 20)
    found: list[dict[str, Any]] = []
    per_topic: dict[str, int] = {}
    for record in log_records(store):
        per_topic[record.topic] = per_topic.get(record.topic, 0) + 1
        if per_topic[record.topic] <= RECORDS_PER_TOPIC:
            raw = log[record.physical_offset : record.physical_offset + record.size]
            found.append({"name": f"{coding} {describe(record)}", "hex": raw.hex()})
    return found


def keep_files(store: Path, out: Path) -> None:
    """Excerpts of the derived files and the configuration texts, as the broker left them."""
    queue = store / "consumequeue" / "GoldenTopic" / "0" / f"{0:020d}"
    (out / "consumequeue.bin").write_bytes(queue.open("rb").read(20 * 32))
    delays = store / "consumequeue" / "SCHEDULE_TOPIC_XXXX" / "0" / f"{0:020d}"
    (out / "consumequeue-delay.bin").write_bytes(delays.open("rb").read(20 * 8))
    (out / "checkpoint.bin").write_bytes((store / "checkpoint").open("rb").read(4096))
    (out / "index.json").write_text(json.dumps(index_excerpt(store), indent=1) + "\n")
    (out / "commitlog-head.bin").write_bytes(log_head(store))
    target = out / "config"
    target.mkdir(exist_ok=True)
    for name in ("topics", "consumerOffset", "subscriptionGroup", "delayOffset", "consumerFilter"):
        source = store / "config" / f"{name}.json"
        if source.exists():
            (target / source.name).write_bytes(source.read_bytes())


def log_head(store: Path) -> bytes:
    """The first records in a row, so that offsets, sizes and queue entries fit together."""
    log = sorted((store / "commitlog").iterdir())[0].open("rb").read(1 << 20)
    head = [record for record in log_records(store) if record.physical_offset < LOG_HEAD]
    return log[: sum(record.size for record in head)]


def index_excerpt(store: Path) -> dict[str, Any]:
    """Header, used slots and entries of the index file, which is mostly holes."""
    slots, entry_size = 5_000_000, 20
    with sorted((store / "index").iterdir())[0].open("rb") as file:
        header = file.read(40)
        (count,) = struct.unpack_from(">i", header, 36)
        used = {}
        for number, (value,) in enumerate(struct.iter_unpack(">i", file.read(4 * slots))):
            if value:
                used[number] = value
        entries = file.read(entry_size * count)
    return {"header": header.hex(), "slots": used, "entries": entries.hex(), "slot_count": slots}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lib", type=Path, default=DEFAULT_LIB)
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    all_frames: list[dict[str, Any]] = []
    all_records: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        classes = Path(folder) / "classes"
        compiler = ["javac", "-cp", f"{options.lib}/*", "-d", str(classes)]
        subprocess.run([*compiler, str(HERE / "Golden.java")], check=True)
        for coding in ("JSON", "ROCKETMQ"):
            recording, store = run(options.lib, Path(folder) / coding, coding, classes)
            all_frames += choose_frames(recording, coding)
            if coding == "JSON":
                all_records += choose_records(store, coding)
                keep_files(store, options.out)
    write_vectors(options.out / "frames.json", all_frames)
    write_vectors(options.out / "records.json", all_records)
    print(f"{len(all_frames)} frames and {len(all_records)} records in {options.out}")


def write_vectors(path: Path, entries: list[dict[str, Any]]) -> None:
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
    path.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
