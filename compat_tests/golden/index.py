"""Record index files from the real RocketMQ 5.5.0 into tests/vectors/index/.

    python -m compat_tests.golden.index [--out tests/vectors/index]

One broker with very small index files gets a few messages by hand-made frames and is stopped in
order. The commit log is kept without the zeros at its end, the index files whole.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Final

from compat_tests.golden.stores import record
from compat_tests.wire.asks import create_topic, properties, send, send_batch
from compat_tests.wire.frames import Frame
from compat_tests.wire.link import Link
from compat_tests.wire.records import batch_body

DEFAULT_OUT: Final = Path(__file__).parents[2] / "tests" / "vectors" / "index"
SETTINGS: Final = {
    "mappedFileSizeCommitLog": "65536",
    "maxHashSlotNum": "11",
    "maxIndexNum": "16",
}
TOPIC: Final = "GoldenTopic"


def traffic(broker: Link) -> None:
    requests = [
        create_topic(TOPIC, 1),
        keyed(UNIQ_KEY="U0", KEYS="one", TAGS="TagA"),
        keyed(UNIQ_KEY="U1", KEYS="one two  three ", TAGS="TagA || TagB"),
        # Without a unique key the broker makes one; a delayed message has two topics.
        keyed(KEYS="Aa BB", DELAY="18"),
        keyed(UNIQ_KEY="\u00fc-\U0001f600", KEYS="\u00fcber \U0001f600", TAGS="T\u00e4g"),
        keyed(UNIQ_KEY="U3", DELAY="1"),
        send_batch(
            batch_body([(b"item", {"UNIQ_KEY": f"I{n}", "KEYS": "items"}) for n in range(3)]),
            topic=TOPIC,
        ),
        *(keyed(UNIQ_KEY=f"V{n}", KEYS=" ".join(f"k{k}" for k in range(n))) for n in range(9)),
    ]
    for request in requests:
        answer = broker.ask(request)
        if answer.code != 0:
            raise RuntimeError(f"not stored: {answer.remark}")
        # So that entries lie some seconds behind the beginning of their file.
        time.sleep(0.4)
    time.sleep(2)


def keyed(**pairs: str) -> Frame:
    return send(b"body", topic=TOPIC, properties=properties(**pairs))


def keep(store: Path, out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    (log,) = (store / "commitlog").iterdir()
    (out / "commitlog.bin").write_bytes(log.read_bytes().rstrip(b"\0"))
    for number, file in enumerate(sorted((store / "index").iterdir())):
        (out / f"index-{number}.bin").write_bytes(file.read_bytes())


if __name__ == "__main__":
    record(__doc__, DEFAULT_OUT, SETTINGS, traffic, keep)
