"""Consumer groups: creation on first use, bans, changes, the file."""

from pathlib import Path

import pytest

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.subscription_groups import PREDEFINED, SubscriptionGroups
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.java import fastjson
from trimq.remoting.contract import RemotingError

VECTORS = Path(__file__).parents[1].parent / "vectors" / "config"


@pytest.fixture
def groups(tmp_path: Path, clock: Clock) -> SubscriptionGroups:
    return SubscriptionGroups(BrokerConfig(), tmp_path, clock)


def test_a_group_is_created_on_first_use(groups: SubscriptionGroups) -> None:
    assert set(groups.all()) == set(PREDEFINED)
    assert "g" not in groups
    found = groups.find("g")
    assert found == SubscriptionGroupConfig(group_name="g")
    assert groups.find("g") is found
    assert groups.data_version.counter == 1


def test_an_illegal_name_makes_no_group(groups: SubscriptionGroups) -> None:
    assert groups.find("not a group") is None
    assert groups.find("g" * 121) is None
    assert groups.data_version.counter == 0


def test_without_auto_creation_only_system_groups_come_up(tmp_path: Path, clock: Clock) -> None:
    config = BrokerConfig(auto_create_subscription_group=False)
    groups = SubscriptionGroups(config, tmp_path, clock)
    assert groups.find("g") is None
    assert groups.find("CID_RMQ_SYS_X") is not None
    config = BrokerConfig(auto_create_subscription_group=False, enable_create_sys_group=False)
    assert SubscriptionGroups(config, tmp_path / "2", clock).find("CID_RMQ_SYS_X") is None


def test_bans_are_bits_per_topic(groups: SubscriptionGroups) -> None:
    groups.set_forbidden("g", "T", 2, True)
    groups.set_forbidden("g", "T", 0, True)
    assert groups.forbidden("g", "T") == 5
    assert groups.is_forbidden("g", "T", 2)
    groups.set_forbidden("g", "T", 2, False)
    assert groups.forbidden("g", "T") == 1
    groups.set_forbidden("g", "U", 1, True)
    # As the real one: the last bit of one topic takes the bans of the whole group with it.
    groups.set_forbidden("g", "T", 0, False)
    assert groups.forbidden_table() == {}


def test_an_update_keeps_attributes_that_it_does_not_name(groups: SubscriptionGroups) -> None:
    groups.update(SubscriptionGroupConfig(group_name="g", attributes={"+lite.sub.model": "Shared"}))
    groups.update(SubscriptionGroupConfig(group_name="g", retry_max_times=3))
    found = groups.get("g")
    assert found is not None
    assert (found.retry_max_times, found.attributes) == (3, {"lite.sub.model": "Shared"})
    with pytest.raises(RemotingError, match="unsupported key: x"):
        groups.update(SubscriptionGroupConfig(group_name="g", attributes={"+x": "1"}))


def test_changes_are_there_after_a_restart(
    groups: SubscriptionGroups, tmp_path: Path, clock: Clock
) -> None:
    groups.find("g")
    groups.find("h")
    groups.set_forbidden("h", "T", 2, True)
    groups.delete("g")
    groups.delete("g")
    again = SubscriptionGroups(BrokerConfig(), tmp_path, clock)
    again.load()
    assert again.all() == groups.all()
    assert again.forbidden("h", "T") == 4
    assert again.data_version.counter == 4
    groups.disable_consume("h")
    groups.close()
    again.load()
    assert again.all()["h"].consume_enable is False


def test_pages(groups: SubscriptionGroups) -> None:
    names = sorted(groups.all())
    version = fastjson.dumps(groups.data_version).decode()
    assert list(groups.page(version, 3, 2)) == names[3:5]
    assert list(groups.page(None, 3, 2)) == names[:2]


def test_the_real_brokers_file_loads_and_is_written_the_same(tmp_path: Path, clock: Clock) -> None:
    real = (VECTORS / "subscriptionGroup.json").read_bytes()
    (tmp_path / "subscriptionGroup.json").write_bytes(real)
    groups = SubscriptionGroups(BrokerConfig(), tmp_path, clock)
    groups.load()
    groups.persist()
    written = (tmp_path / "subscriptionGroup.json").read_bytes()
    assert fastjson.loads(written) == fastjson.loads(real)
    # Java writes a hash table's order, so the lines are compared, not their places.
    assert _lines(written) == _lines(real)


def _lines(text: bytes) -> list[bytes]:
    return sorted(line.rstrip(b",") for line in text.split(b"\n"))
