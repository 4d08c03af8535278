"""Record the queues that few brokers have, from the real RocketMQ 5.5.0, into tests/vectors/queues/.

    python -m compat_tests.golden.queues [--out tests/vectors/queues]

One broker with enableConsumeQueueExt and a topic with queue.type=BatchCQ gets a few messages by
hand-made frames and is stopped in order; the files it leaves behind are small enough to be kept
whole, but for the zeros at their ends.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import Final

from compat_tests.servers import containers, real
from compat_tests.servers.processes import HOST
from compat_tests.servers.server import Options
from compat_tests.wire.asks import create_topic, properties, send, send_batch
from compat_tests.wire.link import Link
from trimq.codec.records.batch import BatchItem, join_batch

DEFAULT_OUT: Final = Path(__file__).parents[2] / "tests" / "vectors" / "queues"
SETTINGS: Final = {
    "mappedFileSizeCommitLog": "65536",
    "mapperFileSizeBatchConsumeQueue": str(46 * 8),
    "enableConsumeQueueExt": "true",
    # Three units a file.
    "mappedFileSizeConsumeQueueExt": "70",
}
FILES: Final = {
    "commitlog.bin": "commitlog",
    "batchqueue": "batchconsumequeue/GoldenBatches/0",
    "queue.bin": "consumequeue/GoldenTopic/0",
    "extension": "consumequeue_ext/GoldenTopic/0",
}


def traffic(broker: Link) -> None:
    for topic, attributes in (("GoldenTopic", None), ("GoldenBatches", "+queue.type=BatchCQ")):
        created = broker.ask(create_topic(topic, 1, attributes=attributes))
        if created.code != 0:
            raise RuntimeError(f"{topic} not created: {created.remark}")
    for number in range(5):
        tag = {} if number == 2 else {"TAGS": f"Tag{number}"}
        outer = properties(UNIQ_KEY=f"U{number}", **tag)
        answers = [broker.ask(send(b"alone", topic="GoldenTopic", properties=outer))]
        items = [BatchItem(0, b"item", b"") for _ in range(number + 1)]
        batch = send_batch(join_batch(items), topic="GoldenBatches", properties=outer)
        answers.append(broker.ask(batch))
        answers.append(broker.ask(send(b"alone", topic="GoldenBatches", properties=outer)))
        for answer in answers:
            if answer.code != 0:
                raise RuntimeError(f"not stored: {answer.remark}")


def keep(store: Path, out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for name, folder in FILES.items():
        for number, file in enumerate(sorted((store / folder).iterdir())):
            content = file.read_bytes().rstrip(b"\0")
            if content:
                target = name if name.endswith(".bin") else f"{name}-{number}.bin"
                (out / target).write_bytes(content)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    out: Path = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        broker = real.RealBroker(
            containers.launcher(), home, f"{HOST}:1", Options(settings=SETTINGS)
        )
        broker.start()
        try:
            link = Link(broker.addr)
            traffic(link)
            link.close()
        finally:
            broker.stop()
        keep(broker.store, out)
    print(f"{len(list(out.iterdir()))} files in {out}")


if __name__ == "__main__":
    main()
