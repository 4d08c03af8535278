"""Record the queues that few brokers have, from the real RocketMQ 5.5.0, into tests/vectors/queues/.

    python -m compat_tests.golden.queues [--out tests/vectors/queues]

One broker with enableConsumeQueueExt and a topic with queue.type=BatchCQ gets a few messages by
hand-made frames and is stopped in order; the files it leaves behind are small enough to be kept
whole, but for the zeros at their ends.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from compat_tests.golden.stores import record
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


if __name__ == "__main__":
    record(__doc__, DEFAULT_OUT, SETTINGS, traffic, keep)
