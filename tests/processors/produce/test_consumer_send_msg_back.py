"""CONSUMER_SEND_MSG_BACK: from a request to a reply; the rules are in tests/broker/produce."""

import pytest

from trimq.codec.codes import ResponseCode
from trimq.remoting.exchange import Later
from trimq.remoting.testing import answer


@pytest.fixture
def original(producing, props):
    """A stored message."""
    producing.send(i=props(UNIQ_KEY="U"))
    [record] = producing.broker.records("T")
    return record


def test_the_copy_is_written_with_the_receive(producing, original):
    response = producing.send_back(original.physical_offset)
    assert (response.code, response.remark, response.staged) == (0, None, True)
    assert producing.broker.store.max_offset("SCHEDULE_TOPIC_XXXX", 2) == 0
    producing.broker.store.write_staged()
    assert producing.broker.store.max_offset("SCHEDULE_TOPIC_XXXX", 2) == 1


def test_a_group_that_wants_no_retries(producing, original):
    producing.broker.groups.find("CG").retry_queue_nums = 0
    response = producing.send_back(original.physical_offset)
    assert (response.code, response.staged) == (0, False)
    assert producing.broker.topics.get("%RETRY%CG") is None


def test_what_is_not_a_message(producing, original):
    response = producing.send_back(4)
    assert (response.code, response.staged) == (ResponseCode.SYSTEM_ERROR, False)
    assert response.remark == "look message by offset failed, 4"


def test_a_refusal(producing):
    response = producing.send_back(0, group="a b")
    assert (response.code, response.staged) == (ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, False)
    assert response.remark.startswith("subscription group not exist, a b ")


async def test_a_message_on_disk_is_read_in_a_thread(producing, original, monkeypatch):
    monkeypatch.setattr(producing.broker.store, "load", lambda extents: None)
    assert isinstance(producing.send_back(original.physical_offset), Later)
    header = producing.broker.request(
        36,
        producing.back.decode_header(
            {"offset": str(original.physical_offset), "group": "CG", "delayLevel": "0"}
        ),
    )
    response = await answer(producing.back, header)
    # Already written: nothing of a receive is left to wait for.
    assert (response.code, response.staged) == (0, False)
    assert producing.broker.store.max_offset("SCHEDULE_TOPIC_XXXX", 2) == 1
