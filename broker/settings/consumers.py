"""Members of consumer groups, what they are told, and how queues are shared out among them."""

from dataclasses import dataclass

from trimq.base.setting_fields import setting


@dataclass(frozen=True, kw_only=True)
class ConsumerSettings:
    """Consumers, and who gets which queue."""

    __slots__ = ()

    notify_consumer_ids_changed_enable: bool = setting(
        True, "Tell consumers when members of their group come and go.", live=True
    )
    real_time_notify_consumer_change: bool = setting(
        True, "Tell them at once; otherwise every 15 s.", live=True
    )
    refuse_inconsistent_subscription: bool = setting(
        False,
        "Refuse heartbeats of consumers that subscribe differently from another member of their "
        "group.",
        own=True,
        live=True,
    )
    reject_pull_consumer_enable: bool = setting(
        False, "Ignore heartbeats of consumers that pull by themselves.", live=True
    )
    channel_expired_timeout: int = setting(
        120_000,
        "Milliseconds after which a client without heartbeats is dropped.",
        at_least=1000,
        live=True,
        long=True,
    )
    subscription_expired_timeout: int = setting(
        600_000,
        "Milliseconds after which a subscription that is known from pulls alone is forgotten.",
        at_least=1000,
        long=True,
        live=True,
    )
    server_load_balancer_enable: bool = setting(
        True,
        "Share queues out among a group's clients that ask for it; false: each gets all.",
        live=True,
    )
    default_message_request_mode: str = setting(
        "PULL",
        "How clients that ask read a topic that setConsumeMode says nothing about.",
        choices=("PULL", "POP"),
        live=True,
    )
    default_pop_share_queue_num: int = setting(
        -1, "How many other clients' queues a client pops, too; below 1: those of all.", live=True
    )
    load_balance_poll_name_server_interval: int = setting(
        30_000,
        "How long a topic's queues on all brokers are remembered, in ms.",
        at_least=1,
        live=True,
        long=True,
    )
