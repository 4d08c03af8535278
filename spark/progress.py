"""A stream's progress as a consumer group's, so that mqadmin shows its lag.

The checkpoint is what counts: a broker that does not accept the progress causes a warning.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Final

from trimq.admin.errors import Refused
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.heartbeat import ConsumerData, HeartbeatData, SubscriptionData
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.clients import UnregisterClientRequestHeader
from trimq.codec.headers.offsets import UpdateConsumerOffsetRequestHeader
from trimq.remoting.errors import TransportError
from trimq.spark.options.positions import Offsets, QueueKey
from trimq.spark.planning.server_requests import Question, ServerRequests

log: Final = logging.getLogger("trimq.spark")

# Seconds before a broker that did not accept the progress is asked again.
_AGAIN: Final = 5.0


class GroupProgress:
    """Writes offsets to the brokers that have the queues, to all of them together."""

    def __init__(
        self, server_requests: ServerRequests, group: str, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._server_requests = server_requests
        self._group = group
        self._now = now
        self._written: Offsets = {}
        self._topics: dict[str, set[str]] = {}
        self._known: set[str] = set()
        self._failed: dict[str, float] = {}
        self._told: set[str] = set()
        self._id = f"{socket.gethostname()}@spark-{os.getpid()}"

    def commit(self, offsets: Offsets, masters: Mapping[tuple[str, str], str]) -> None:
        """Record how far the group has got; what has no master now is written later."""
        new: dict[str, list[QueueKey]] = defaultdict(list)
        for key, at in offsets.items():
            addr = masters.get(key[:2])
            if addr is not None and self._written.get(key) != at and not self._failed_lately(addr):
                new[addr].append(key)
        # A broker that creates groups by itself does so on a heartbeat: that has to be answered
        # first.
        beats = {addr: beat for addr, keys in new.items() if (beat := self._heartbeat(addr, keys))}
        self._ask(beats)
        updates = {
            addr: [self._update(key, offsets[key]) for key in keys]
            for addr, keys in new.items()
            if not self._failed_lately(addr)
        }
        for addr in beats.keys() & updates.keys():
            updates[addr].append(self._farewell())
        for addr in self._ask(updates):
            self._told.discard(addr)
            self._written |= {key: offsets[key] for key in new[addr]}

    def _ask(self, questions: Mapping[str, list[Question]]) -> list[str]:
        """The brokers that accepted all of it."""
        good: list[str] = []
        for addr, answers in self._server_requests.ask_all(questions).items():
            error = _failure(addr, questions[addr], answers)
            if error is None:
                good.append(addr)
                self._failed.pop(addr, None)
            else:
                self._fails(addr, error)
        return good

    def _failed_lately(self, addr: str) -> bool:
        return addr in self._failed and self._now() - self._failed[addr] < _AGAIN

    def _fails(self, addr: str, error: Exception) -> None:
        self._failed[addr] = self._now()
        self._known.discard(addr)
        if addr not in self._told:
            self._told.add(addr)
            log.warning("the progress of group %r is not written: %s", self._group, error)

    def _update(self, key: QueueKey, offset: int) -> Question:
        topic, _, queue_id = key
        header = UpdateConsumerOffsetRequestHeader(
            consumer_group=self._group, topic=topic, queue_id=queue_id, commit_offset=offset
        )
        return Question(RequestCode.UPDATE_CONSUMER_OFFSET, header)

    def _heartbeat(self, addr: str, keys: list[QueueKey]) -> list[Question]:
        """Makes the group known to a broker that creates groups by itself, if it may not know it."""
        topics = self._topics.setdefault(addr, set())
        before = len(topics)
        topics |= {key[0] for key in keys}
        if len(topics) == before and addr in self._known:
            return []
        self._known.add(addr)
        wants = [SubscriptionData(topic=topic, sub_string="*") for topic in sorted(topics)]
        consumer = ConsumerData(
            group_name=self._group,
            consume_type="CONSUME_ACTIVELY",
            message_model="CLUSTERING",
            consume_from_where="CONSUME_FROM_LAST_OFFSET",
            subscription_data_set=wants,
        )
        body = encode_body(HeartbeatData(client_id=self._id, consumer_data_set=[consumer]))
        return [Question(RequestCode.HEART_BEAT, body=body)]

    def _farewell(self) -> Question:
        """Tools ask a group's members what they do, and would wait for one that does not answer."""
        header = UnregisterClientRequestHeader(client_id=self._id, consumer_group=self._group)
        return Question(RequestCode.UNREGISTER_CLIENT, header)


def _failure(
    addr: str, questions: list[Question], answers: list[RemotingCommand] | TransportError
) -> Exception | None:
    if isinstance(answers, TransportError):
        return answers
    for question, answer in zip(questions, answers, strict=True):
        if answer.code != ResponseCode.SUCCESS:
            return Refused(addr, question.code, answer.code, answer.remark)
    return None
