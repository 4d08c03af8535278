"""Settings are declared once, with RocketMQ's names and defaults."""

from trimq.broker.config import BrokerConfig
from trimq.settings.parsing import build, settings_of


def test_every_setting_says_what_it_does() -> None:
    assert all(one.declaration.doc for one in settings_of(BrokerConfig).values())


def test_keys_are_rocketmqs_own() -> None:
    keys = settings_of(BrokerConfig)
    for key in ("brokerIP1", "autoCreateTopicEnable", "flushConsumerOffsetInterval", "brokerId"):
        assert key in keys


def test_the_broker_is_named_after_the_machine_by_default() -> None:
    assert BrokerConfig().broker_name
    assert build(BrokerConfig, {"brokerName": "broker-a"}).broker_name == "broker-a"
