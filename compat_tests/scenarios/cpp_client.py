"""The C++ client, as the Python package `rocketmq` 0.4.4 has it inside: rocketmq-client-cpp 1.2, with its C interface.

Its wheel is fetched once, kept outside the checkout and checked by its hash.

``python compat_tests/scenarios/cpp_client.py FOLDER NAMESRV TOPIC`` sends messages with tags A, B and C, consumes
A and B, and prints what it saw as JSON. FOLDER holds the unpacked wheel.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import zipfile
from pathlib import Path
from typing import Any, Final

VERSION: Final = "0.4.4"
SHA256: Final = "19a10219f5074d1050e88cdbdfed3903a374b3f83c0dd2c8773e1e93e33ad02d"
PATIENCE: Final = 120
EACH: Final = 5


def fetch(cache: Path) -> Path:
    """The folder with the package; RuntimeError, with pip's words, when it cannot be had."""
    folder = cache / f"rocketmq-python-{VERSION}"
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as partial:
            wheel = _download(Path(partial))
            unpacked = Path(partial) / "unpacked"
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(unpacked)
            unpacked.rename(folder)
    return folder


def _download(folder: Path) -> Path:
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(folder),
    ]
    command += ["--only-binary", ":all:", "--platform", "manylinux1_x86_64", f"rocketmq=={VERSION}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-300:])
    (wheel,) = folder.glob("*.whl")
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != SHA256:
        raise RuntimeError(f"{wheel.name} is another file than the one that was tried")
    return wheel


def play(folder: Path, namesrv: str, topic: str, home: Path) -> dict[str, Any]:
    """What the client saw, in a process of its own: it writes its logs below its home."""
    done = subprocess.run(
        [sys.executable, __file__, str(folder), namesrv, topic],
        env={**os.environ, "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
        timeout=3 * PATIENCE,
    )
    if done.returncode != 0:
        raise RuntimeError(f"the C++ client failed: {done.stdout[-500:]}{done.stderr[-2000:]}")
    seen: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return seen


def main(folder: str, namesrv: str, topic: str) -> None:
    sys.path.insert(0, folder)
    from rocketmq import client  # type: ignore[import-not-found]

    producer = client.Producer("PID_cpp")
    producer.set_namesrv_addr(namesrv)
    producer.start()
    sent = 0
    for number in range(EACH):
        for tag in ("A", "B", "C"):
            message = client.Message(topic)
            message.set_tags(tag)
            message.set_keys(f"key{number}")
            message.set_body(f"{tag}{number}")
            sent += producer.send_sync(message).status == client.SendStatus.OK
    got: list[str] = []
    complete = threading.Event()

    def consume(message: Any) -> None:
        got.append(message.body.decode())
        if len(got) == 2 * EACH:
            complete.set()

    consumer = client.PushConsumer("CID_cpp")
    consumer.set_namesrv_addr(namesrv)
    consumer.subscribe(topic, consume, "A || B")
    consumer.start()
    complete.wait(PATIENCE)
    print(json.dumps({"sent": sent, "got": sorted(got)}), flush=True)
    # Its threads end with the process: shutting down waits for them longer than a test should.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
