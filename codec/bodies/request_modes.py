"""Whether clients pull or pop, when the broker shares the queues out among them."""

import msgspec

from trimq.codec.bodies.base import Body, Int32
from trimq.codec.enums import MessageRequestMode


class SetMessageRequestModeRequestBody(Body, kw_only=True):
    """SET_MESSAGE_REQUEST_MODE; `mode` is PULL or POP.

    In POP mode a client may also take from the queues of the `pop_share_queue_num` clients behind it.
    """

    consumer_group: str | None = None
    mode: MessageRequestMode = "PULL"
    pop_share_queue_num: Int32 = 0
    topic: str | None = None


class MessageRequestModes(Body, kw_only=True):
    """GET_ALL_MESSAGE_REQUEST_MODE and the file of it: by topic, then by group."""

    message_request_mode_map: dict[str, dict[str, SetMessageRequestModeRequestBody]] = (
        msgspec.field(default_factory=dict)
    )
