"""The administration clients for other projects: `AdminClient` in Trio, `BlockingAdminClient` in plain
code, and what they raise. Trio is loaded only when `AdminClient` is asked for.
"""

from typing import TYPE_CHECKING

from trimq import check_layers

check_layers(("admin",))

from admin.blocking import BlockingAdminClient  # noqa: E402 - after the check
from admin.errors import AdminError, Invalid, NotFound, Refused  # noqa: E402
from admin.messages import MessageQuery  # noqa: E402
from admin.progress import QueueProgress, Side, Target  # noqa: E402
from admin.sending import NewMessage  # noqa: E402
from admin.signing import AccessKeys  # noqa: E402
from codec.bodies.groups import SubscriptionGroupConfig  # noqa: E402
from codec.bodies.locks import MessageQueue  # noqa: E402
from codec.bodies.topics import TopicConfig  # noqa: E402
from remoting.errors import TransportError  # noqa: E402

if TYPE_CHECKING:
    from admin.client import AdminClient

__all__ = [
    "AccessKeys",
    "AdminClient",
    "AdminError",
    "BlockingAdminClient",
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


def __getattr__(name: str) -> object:
    if name == "AdminClient":
        from admin.client import AdminClient

        return AdminClient
    raise AttributeError(f"module 'trimq.admin' has no attribute {name!r}")
