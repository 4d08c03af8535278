"""An application in Python, by the requests of a client: there is no official client that is blocking and plain."""

from __future__ import annotations

import time
from typing import Any

from tests.requests import heartbeat, send_header, topic_header
from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.messages.message import Message, read_messages
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header
from trimq.codec.headers.messages import RecallMessageRequestHeader
from trimq.codec.headers.pop import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    PopMessageRequestHeader,
)
from trimq.codec.headers.pull import PullMessageRequestHeader
from trimq.codec.headers.send import ConsumerSendMsgBackRequestHeader
from trimq.codec.headers.transactions import EndTransactionRequestHeader
from trimq.codec.pop.handle import real_topic
from trimq.codec.records.properties import format_properties
from trimq.hand.looks.answers import SeenMessage
from trimq.remoting.clients.blocking import BlockingClient

_COMMITS, _SUSPENDS, _SUBSCRIBES = 1, 2, 4
_PREPARED, _COMMIT = 4, 8


class Refused(Exception):
    """`code` and what the broker says."""

    def __init__(self, code: int, remark: str | None) -> None:
        super().__init__(f"{code}: {remark}")
        self.code = code


class WireClient:
    """On one connection, in one group, with a topic of one queue."""

    def __init__(self, name_server: str, topic: str, client_id: str) -> None:
        self.topic = topic
        self.group = f"{topic}Group"
        self.retry_topic = f"%RETRY%{self.group}"
        with BlockingAdminClient(name_server) as admin:
            ((self._broker, known),) = admin.cluster_info().broker_addr_table.items()
        self._link = BlockingClient(known.broker_addrs[0], timeout=10)
        self.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_header(topic, 1))
        body = heartbeat([self.group], producers=["P"], topics=[topic], client_id=client_id)
        self.ask(RequestCode.HEART_BEAT, None, body)

    def close(self) -> None:
        self._link.close()

    def ask(
        self,
        code: RequestCode,
        header: Header | None,
        body: bytes = b"",
        timeout: float | None = None,
    ) -> RemotingCommand:
        """Refused for an answer other than SUCCESS; RemotingTimeout, PeerGone."""
        answer = self._link.request(code, header, body, timeout)
        if answer.code != ResponseCode.SUCCESS:
            raise Refused(answer.code, answer.remark)
        return answer

    def send(
        self, body: str, sys_flag: int = 0, timeout: float | None = None, **properties: str
    ) -> dict[str, str]:
        """The fields of the answer."""
        header = send_header(
            self.topic,
            producer_group="P",
            default_topic_queue_nums=1,
            properties=format_properties(properties).decode(),
            born_timestamp=_now(),
            sys_flag=sys_flag,
        )
        answer = self.ask(RequestCode.SEND_MESSAGE, header, body.encode(), timeout)
        return dict(answer.ext_fields or {})

    def send_half(self, body: str) -> None:
        self.send(body, _PREPARED, TRAN_MSG="true", PGROUP="P", UNIQ_KEY=body)

    def commit(self, half: SeenMessage) -> None:
        header = EndTransactionRequestHeader(
            producer_group="P",
            tran_state_table_offset=half.offset,
            commit_log_offset=half.position,
            commit_or_rollback=_COMMIT,
            from_transaction_check=True,
        )
        self._link.oneway(RequestCode.END_TRANSACTION, header)

    def recall(self, handle: str) -> None:
        header = RecallMessageRequestHeader(
            producer_group="P", topic=self.topic, recall_handle=handle
        )
        self.ask(RequestCode.RECALL_MESSAGE, header)

    def pull(
        self, offset: int, topic: str | None = None, commit: int = 0, wait_millis: int = 0
    ) -> list[Message]:
        """Refused, too, when there is none."""
        header = PullMessageRequestHeader(
            consumer_group=self.group,
            topic=topic or self.topic,
            queue_id=0,
            queue_offset=offset,
            max_msg_nums=32,
            sys_flag=_SUBSCRIBES | (_COMMITS if commit else 0) | (_SUSPENDS if wait_millis else 0),
            commit_offset=commit,
            suspend_timeout_millis=wait_millis,
            subscription="*",
            sub_version=0,
        )
        answer = self.ask(RequestCode.PULL_MESSAGE, header)
        return list(read_messages(bytes(answer.body)))

    def send_back(self, message: Message) -> None:
        """It comes again later, or is a dead letter."""
        header = ConsumerSendMsgBackRequestHeader(
            offset=message.physical_offset,
            group=self.group,
            delay_level=0,
            origin_topic=self.topic,
            max_reconsume_times=16,
        )
        self.ask(RequestCode.CONSUMER_SEND_MSG_BACK, header)

    def pop(self, invisible: float = 60) -> tuple[Message, str] | None:
        """A message and its handle, if there is one. It comes again after so many seconds."""
        header = PopMessageRequestHeader(
            consumer_group=self.group,
            topic=self.topic,
            queue_id=-1,
            max_msg_nums=1,
            invisible_time=int(invisible * 1000),
            poll_time=0,
            born_time=_now(),
        )
        try:
            answer = self.ask(RequestCode.POP_MESSAGE, header)
        except Refused as refused:
            if refused.code in (ResponseCode.PULL_NOT_FOUND, ResponseCode.POLLING_TIMEOUT):
                return None
            raise
        (message,) = read_messages(bytes(answer.body))
        fields = answer.ext_fields or {}
        of_retries, queue, first = fields["startOffsetInfo"].split(";")[0].split(" ")
        noted = (first, fields["popTime"], fields["invisibleTime"], fields["reviveQid"])
        where = (of_retries, self._broker, queue, str(message.queue_offset))
        return message, " ".join((*noted, *where))

    def renew(self, message: Message, handle: str, invisible: float = 60) -> str:
        """The new handle, by the fields of the answer."""
        header = ChangeInvisibleTimeRequestHeader(
            **self._popped(message, handle), invisible_time=int(invisible * 1000)
        )
        fields = self.ask(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, header).ext_fields or {}
        words = handle.split(" ")
        words[1:4] = fields["popTime"], fields["invisibleTime"], fields["reviveQid"]
        return " ".join(words)

    def acknowledge(self, message: Message, handle: str) -> None:
        header = AckMessageRequestHeader(**self._popped(message, handle))
        self.ask(RequestCode.ACK_MESSAGE, header)

    def _popped(self, message: Message, handle: str) -> dict[str, Any]:
        return {
            "consumer_group": self.group,
            # What comes again lies in a retry topic.
            "topic": real_topic(message.topic, self.group, handle.split(" ")[4]),
            "queue_id": message.queue_id,
            "extra_info": handle,
            "offset": message.queue_offset,
        }


def _now() -> int:
    """Of this machine: clients have a clock of their own."""
    return time.time_ns() // 1_000_000
