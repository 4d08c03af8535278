"""Messages that are sent back: retries and dead letters; expectations read off RocketMQ 5.5.0."""

import pytest

from trimq.codec.codes import ResponseCode
from trimq.codec.flags import Perm
from trimq.codec.records.properties import parse_properties
from trimq.store.errors import DiskFull

SEE_FAQ = "\nSee https://rocketmq.apache.org/docs/faq/ for further details."


@pytest.fixture
def original(producing, props):
    """A stored message and the properties it was sent with."""
    producing.send(e=2, i=props(UNIQ_KEY="U", TAGS="A"), h=7)
    [record] = producing.broker.records("T", 2)
    return record


def waiting(producing, level):
    [record] = producing.broker.records("SCHEDULE_TOPIC_XXXX", level - 1)
    return record, parse_properties(record.properties)


def test_the_first_retry_waits_in_level_three(producing, original):
    assert producing.send_back(original.physical_offset) is None
    record, properties = waiting(producing, 3)
    assert properties == {
        "UNIQ_KEY": "U",
        "TAGS": "A",
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
        "CLUSTER": "DefaultCluster",
        "RETRY_TOPIC": "T",
        "ORIGIN_MESSAGE_ID": "7F00000100002A9F0000000000000000",
        "WAIT": "false",
        "DELAY": "3",
        "REAL_TOPIC": "%RETRY%CG",
        "REAL_QID": "0",
    }
    assert (record.body, record.flag, record.reconsume_times) == (b"hello", 7, 1)
    assert record.born_host == original.born_host
    assert record.born_timestamp == original.born_timestamp


def test_a_level_that_was_asked_for(producing, original):
    producing.send_back(original.physical_offset, delay_level=1)
    producing.send_back(original.physical_offset, delay_level=99)
    assert waiting(producing, 1)[1]["DELAY"] == "1"
    assert waiting(producing, 18)[1]["DELAY"] == "18"


def test_later_retries_wait_longer_and_keep_their_origin(producing, original):
    producing.send_back(original.physical_offset)
    copy, _ = waiting(producing, 3)
    producing.send_back(copy.physical_offset)
    again, properties = waiting(producing, 4)
    assert again.reconsume_times == 2
    assert properties["ORIGIN_MESSAGE_ID"] == "7F00000100002A9F0000000000000000"
    assert properties["RETRY_TOPIC"] == "T"


@pytest.mark.parametrize(
    "fields", [{"delay_level": -1}, {"max_reconsume_times": 0}, {"max_reconsume_times": -1}]
)
def test_dead_letters(producing, original, fields):
    producing.send_back(original.physical_offset, **fields)
    [dead] = producing.broker.records("%DLQ%CG")
    properties = parse_properties(dead.properties)
    assert (properties["DELAY"], properties["RETRY_TOPIC"], properties["WAIT"]) == (
        "0",
        "T",
        "false",
    )
    assert dead.reconsume_times == 1
    made = producing.broker.topics.get("%DLQ%CG")
    assert (made.write_queue_nums, made.read_queue_nums, made.perm) == (1, 1, 6)


def test_the_group_has_a_maximum_for_clients_without(producing, original):
    producing.broker.groups.find("CG").retry_max_times = 0
    producing.send_back(original.physical_offset, max_reconsume_times=None)
    producing.send_back(original.physical_offset, max_reconsume_times=5, version=100)
    assert len(producing.broker.records("%DLQ%CG")) == 2


def test_the_retry_topic_is_made(producing, original):
    producing.broker.groups.find("CG").retry_queue_nums = 3
    producing.send_back(original.physical_offset, unit_mode=True)
    made = producing.broker.topics.get("%RETRY%CG")
    assert (made.read_queue_nums, made.perm, made.topic_sys_flag) == (3, 6, 2)


def test_a_group_that_wants_no_retries(producing, original):
    producing.broker.groups.find("CG").retry_queue_nums = 0
    assert producing.send_back(original.physical_offset) is None
    assert producing.broker.topics.get("%RETRY%CG") is None


@pytest.mark.parametrize("offset", [-1, 4, 99999999999])
def test_what_is_not_a_message(producing, original, offset):
    response = producing.send_back(offset)
    assert response.code == ResponseCode.SYSTEM_ERROR
    assert response.remark == f"look message by offset failed, {offset}"


def test_refusals(make_producing, producing):
    response = producing.send_back(0, group="a b")
    assert response.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert response.remark == "subscription group not exist, a b " + SEE_FAQ
    producing.send_back(0)
    producing.broker.topics.get("%RETRY%CG").perm = Perm.READ
    response = producing.send_back(0)
    assert response.code == ResponseCode.NO_PERMISSION
    assert response.remark == "the topic[%RETRY%CG] sending message is forbidden"


def test_a_read_only_broker(make_producing):
    response = make_producing(broker_permission=Perm.READ).send_back(0)
    assert response.code == ResponseCode.NO_PERMISSION
    assert response.remark == "the broker[127.0.0.1] sending message is forbidden"


def test_a_store_that_cannot_take_it(producing, original, monkeypatch):
    def full(message):
        raise DiskFull("no room")

    monkeypatch.setattr(producing.broker.store, "stage", full)
    response = producing.send_back(original.physical_offset)
    assert (response.code, response.remark) == (1, "SERVICE_NOT_AVAILABLE")
