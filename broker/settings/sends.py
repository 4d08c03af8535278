"""Messages that come in: sends, replies, delays and recalls."""

from dataclasses import dataclass

from trimq.base.setting_fields import setting


@dataclass(frozen=True, kw_only=True)
class SendSettings:
    """What becomes of a message that comes in."""

    __slots__ = ()

    region_id: str = setting("DefaultRegion", "MSG_REGION of stored messages.", live=True)
    trace_on: bool = setting(True, "TRACE_ON of stored messages.", live=True)
    store_reply_message_enable: bool = setting(
        True,
        "Keep the replies of request-reply in the cluster's reply topic, too; requesters get them either way.",
        live=True,
    )
    enable_register_producer: bool = setting(
        True,
        "Remember producers; only with rejectTransactionMessage can they be forgotten.",
        live=True,
    )
    start_accept_send_request_time_stamp: int = setting(
        0,
        "Sends before this time (milliseconds since 1970) are refused.",
        at_least=0,
        live=True,
        long=True,
    )
    recall_message_enable: bool = setting(
        False, "Let producers take timer messages back before their time.", live=True
    )
    allow_recall_when_broker_not_writeable: bool = setting(
        True, "They may do so even if brokerPermission allows no sends.", live=True
    )
    delay_offset_update_version_step: int = setting(
        200, "Delayed deliveries per new data version of their progress.", at_least=1, long=True
    )
