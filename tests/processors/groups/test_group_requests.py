"""Creating, reading and deleting groups."""

from typing import Any

import pytest

from trimq.codec.bodies.base import decode_body, encode_body
from trimq.codec.bodies.groups import (
    SubscriptionGroupConfig,
    SubscriptionGroupList,
    SubscriptionGroupWrapper,
)
from trimq.codec.codes import ResponseCode
from trimq.codec.headers import groups as headers
from trimq.processors.groups.delete_subscriptiongroup import DeleteSubscriptiongroup
from trimq.processors.groups.get_all_subscriptiongroup_config import GetAllSubscriptiongroupConfig
from trimq.processors.groups.get_subscriptiongroup_config import GetSubscriptiongroupConfig
from trimq.processors.groups.update_and_create_subscriptiongroup import (
    UpdateAndCreateSubscriptiongroup,
)
from trimq.processors.groups.update_and_create_subscriptiongroup_list import (
    UpdateAndCreateSubscriptiongroupList,
)
from trimq.remoting.contract import Later, RemotingError
from trimq.remoting.testing import answer


def test_create_and_change(broker: Any) -> None:
    processor = broker.processor(UpdateAndCreateSubscriptiongroup)

    def ask(group: SubscriptionGroupConfig) -> None:
        assert processor.handle(broker.request(200, None, encode_body(group))).code == 0

    ask(SubscriptionGroupConfig(group_name="g", retry_queue_nums=2))
    ask(SubscriptionGroupConfig(group_name="g", consume_enable=False))
    found = broker.groups.get("g")
    assert (found.retry_queue_nums, found.consume_enable) == (1, False)
    with pytest.raises(RemotingError) as refused:
        ask(SubscriptionGroupConfig(group_name=""))
    assert refused.value.code == ResponseCode.INVALID_PARAMETER
    assert refused.value.remark == "The specified group is blank."
    assert processor.handle(broker.request(200, None)).code == 0


def test_a_list_is_created_whole_or_not_at_all(broker: Any) -> None:
    processor = broker.processor(UpdateAndCreateSubscriptiongroupList)

    def ask(*names: str) -> None:
        groups = [SubscriptionGroupConfig(group_name=name) for name in names]
        body = encode_body(SubscriptionGroupList(group_config_list=groups))
        processor.handle(broker.request(225, None, body))

    with pytest.raises(RemotingError, match="contains illegal characters"):
        ask("g", "h h")
    assert "g" not in broker.groups
    ask("g", "h")
    assert "h" in broker.groups


async def test_a_long_list_is_created_in_steps_and_whole_or_not_at_all(broker: Any) -> None:
    processor = broker.processor(UpdateAndCreateSubscriptiongroupList)

    async def ask(*names: str) -> None:
        groups = [SubscriptionGroupConfig(group_name=name) for name in names]
        body = encode_body(SubscriptionGroupList(group_config_list=groups))
        later = processor.handle(broker.request(225, None, body))
        assert isinstance(later, Later)
        assert (await later.answer(later.request)).code == 0

    names = [f"g{number}" for number in range(60)]
    with pytest.raises(RemotingError, match="contains illegal characters"):
        await ask(*names, "h h")
    assert "g0" not in broker.groups
    await ask(*names)
    assert all(name in broker.groups for name in names)


def test_asking_for_a_group_creates_it(broker: Any, make_broker: Any) -> None:
    processor = broker.processor(GetSubscriptiongroupConfig)
    header = headers.GetSubscriptionGroupConfigRequestHeader(group="g")
    body = processor.handle(broker.request(352, header)).body
    assert decode_body(SubscriptionGroupConfig, body) == SubscriptionGroupConfig(group_name="g")
    assert b'"groupRetryPolicy":{"type":"CUSTOMIZED"}' in body
    header = headers.GetSubscriptionGroupConfigRequestHeader(group="not a group")
    with pytest.raises(RemotingError) as refused:
        processor.handle(broker.request(352, header))
    assert refused.value.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert refused.value.remark == "No group in this broker"


async def test_all_groups_or_a_page(broker: Any) -> None:
    broker.groups.find("g")
    broker.groups.set_forbidden("g", "T", 2, True)
    processor = broker.processor(GetAllSubscriptiongroupConfig)

    async def ask(**asked: Any) -> SubscriptionGroupWrapper:
        header = headers.GetAllSubscriptionGroupRequestHeader(**asked)
        response = await answer(processor, broker.request(201, header))
        assert response.header.total_group_num == len(broker.groups)
        return decode_body(SubscriptionGroupWrapper, response.body)

    whole = await ask()
    assert whole.subscription_group_table == broker.groups.all()
    assert whole.forbidden_table == {"g": {"T": 4}}
    assert whole.data_version == broker.groups.data_version
    names = sorted(broker.groups.all())
    page = await ask(group_seq=0, max_group_num=2)
    assert list(page.subscription_group_table) == names[:2]
    assert page.forbidden_table == {}


@pytest.mark.parametrize(("clean", "left"), [(False, 5), (True, -1)])
def test_delete_a_group(broker: Any, clean: bool, left: int) -> None:
    broker.groups.find("g")
    broker.offsets.commit("c", "g", "T", 0, 5)
    header = headers.DeleteSubscriptionGroupRequestHeader(group_name="g", clean_offset=clean)
    processor = broker.processor(DeleteSubscriptiongroup)
    assert processor.handle(broker.request(207, header)).code == 0
    assert "g" not in broker.groups
    assert broker.offsets.query("g", "T", 0) == left


def test_a_deleted_group_of_lite_topics_loses_its_offsets(broker: Any) -> None:
    """They are of queues that nobody else can name."""
    group = SubscriptionGroupConfig(group_name="g", attributes={"+lite.bind.topic": "T"})
    broker.groups.update(group)
    broker.offsets.commit("c", "g", "T", 0, 5)
    header = headers.DeleteSubscriptionGroupRequestHeader(group_name="g", clean_offset=False)
    assert broker.processor(DeleteSubscriptiongroup).handle(broker.request(207, header)).code == 0
    assert "g" not in broker.groups
    assert broker.offsets.query("g", "T", 0) == -1
