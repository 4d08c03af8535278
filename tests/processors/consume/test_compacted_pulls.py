"""Pulls of a topic that keeps the newest message of each key: through the processor, from its own files."""

import pytest
import trio

from tests.processors.consume.test_filtered_pulls import bodies, put
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import ResponseCode

COMMIT, SUSPEND, SUBSCRIPTION = 1, 2, 4


@pytest.fixture
def compacted(make_consuming):
    """Messages 0 to 9 of a topic C, all with tag A and a key of their own."""
    consuming = make_consuming()
    attributes = {"+cleanup.policy": "COMPACTION"}
    consuming.broker.topics.update(TopicConfig(topic_name="C", attributes=attributes))
    for number in range(10):
        put(consuming, b"%d" % number, topic="C", KEYS=f"k{number}", TAGS="A")
    return consuming


async def test_all_messages_whatever_their_tag(compacted):
    response = await compacted.wait(topic="C", subscription="B")
    assert bodies(response) == [b"%d" % number for number in range(10)]
    assert response.ext_fields["nextBeginOffset"] == "10"
    assert response.ext_fields["maxOffset"] == "10"


async def test_the_offset_is_committed_once(compacted):
    flags = SUBSCRIPTION | COMMIT
    await compacted.wait(topic="C", sysFlag=flags, commitOffset=3)
    assert compacted.broker.offsets.query("CG", "C", 0) == 3
    assert compacted.broker.offsets.query_pull("CG", "C", 0) == 10


async def test_a_held_one_wakes(compacted, nursery):
    async def later():
        await trio.sleep(0.2)
        put(compacted, b"ten", topic="C", KEYS="k10")

    nursery.start_soon(later)
    flags = SUBSCRIPTION | SUSPEND
    asked = {"sysFlag": flags, "queueOffset": 10, "suspendTimeoutMillis": 60_000}
    with trio.fail_after(30):
        assert bodies(await compacted.wait(topic="C", **asked)) == [b"ten"]


async def test_behind_messages_without_a_key(compacted, nursery):
    """They are passed over, and nobody spins because of them."""
    put(compacted, b"no key", topic="C")
    asked = {"sysFlag": SUBSCRIPTION | SUSPEND, "queueOffset": 10, "suspendTimeoutMillis": 300}
    began = trio.current_time()
    response = await compacted.wait(topic="C", **asked)
    assert response.code == ResponseCode.PULL_NOT_FOUND
    assert trio.current_time() - began > 0.25


async def test_files_that_cannot_be_read(compacted):
    await compacted.wait(topic="C")
    root = compacted.broker.store._config.root / "compaction" / "compactionLog"
    (root / "C" / "0" / f"{0:020d}").unlink()
    with pytest.raises(Exception, match="reading the messages failed"):
        await compacted.wait(topic="C")
