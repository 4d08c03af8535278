"""NameServers, which a broker registers with, and other brokers."""

from dataclasses import dataclass

from trimq.base.setting_fields import setting


@dataclass(frozen=True, kw_only=True)
class ClusterSettings:
    """What NameServers are told and when, and how long other brokers are waited for."""

    __slots__ = ()

    register_name_server_period: int = setting(
        30_000,
        "Milliseconds between two registrations, limited to 10000 to 60000.",
        live=True,
    )
    register_broker_timeout_mills: int = setting(
        24_000, "Milliseconds after which a registration has failed.", at_least=1
    )
    compressed_register: bool = setting(False, "Send the registration body compressed.", live=True)
    force_register: bool = setting(True, "Register even when nothing has changed.", live=True)
    enable_single_topic_register: bool = setting(
        False,
        "Register a new topic alone instead of the changed ones with their version.",
        live=True,
    )
    enable_split_registration: bool = setting(
        False, "Register the topics in parts of splitRegistrationSize.", live=True
    )
    split_registration_size: int = setting(
        800, "Topics in one part of a registration.", at_least=1, live=True
    )
    compatible_with_old_name_srv: bool = setting(
        True,
        "Ask NameServers for other brokers of this one's name by a route, as those before 5.0 need it.",
        live=True,
    )
    forward_timeout: int = setting(
        3000,
        "Milliseconds after which a request to another broker, for its part of a static topic's "
        "queue, has failed.",
        at_least=1,
        live=True,
        long=True,
    )
