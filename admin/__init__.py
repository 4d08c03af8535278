"""Administration of RocketMQ and TriMQ servers: `AdminClient` for Trio, `BlockingAdminClient` for
plain code, and what they raise.

Every operation is one async function of a `Link` (`trimq.admin.connecting.link`) in a file per subject. The two
clients are tables of those functions over two links: one waits in Trio, the other on a socket. The
names below are loaded on first use: plain code loads no Trio.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from trimq.admin.blocking import BlockingAdminClient
    from trimq.admin.client import AdminClient
    from trimq.admin.connecting.signing import AccessKeys
    from trimq.admin.errors import AdminError, Invalid, NotFound, Refused
    from trimq.admin.groups.progress import QueueProgress, Side, Target
    from trimq.admin.messages.finding import MessageQuery
    from trimq.admin.messages.sending import NewMessage
    from trimq.codec.bodies.groups import SubscriptionGroupConfig
    from trimq.codec.bodies.locks import MessageQueue
    from trimq.codec.bodies.topics import TopicConfig
    from trimq.remoting.errors import TransportError
    from trimq.remoting.tls.contexts import ClientTls

__all__ = [
    "AccessKeys",
    "AdminClient",
    "AdminError",
    "BlockingAdminClient",
    "ClientTls",
    "Invalid",
    "MessageQuery",
    "MessageQueue",
    "NewMessage",
    "NotFound",
    "QueueProgress",
    "Refused",
    "Side",
    "SubscriptionGroupConfig",
    "Target",
    "TopicConfig",
    "TransportError",
]

_HOMES: Final = {
    "AccessKeys": "trimq.admin.connecting.signing",
    "AdminClient": "trimq.admin.client",
    "AdminError": "trimq.admin.errors",
    "BlockingAdminClient": "trimq.admin.blocking",
    "ClientTls": "trimq.remoting.tls.contexts",
    "Invalid": "trimq.admin.errors",
    "MessageQuery": "trimq.admin.messages.finding",
    "MessageQueue": "trimq.codec.bodies.locks",
    "NewMessage": "trimq.admin.messages.sending",
    "NotFound": "trimq.admin.errors",
    "QueueProgress": "trimq.admin.groups.progress",
    "Refused": "trimq.admin.errors",
    "Side": "trimq.admin.groups.progress",
    "SubscriptionGroupConfig": "trimq.codec.bodies.groups",
    "Target": "trimq.admin.groups.progress",
    "TopicConfig": "trimq.codec.bodies.topics",
    "TransportError": "trimq.remoting.errors",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'trimq.admin' has no attribute {name!r}")
