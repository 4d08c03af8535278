"""What PULL_MESSAGE and LITE_PULL_MESSAGE have in common: reading a queue, or waiting for it.

PullMessageProcessor and DefaultPullMessageResultHandler: a pull that finds nothing and asked for it
waits; when it is woken, or its time is up, everything is checked once more and the answer is the
outcome, except that it does not wait again. A pull's effects happen once: its first look commits
the consumer's offset, and messages are counted when they are handed out.

Messages leave as the buffers that the store has; what it would have to fetch from disk, and what is
large, leaves from the files in a worker thread. For TLS it is read there first.

Hot: compiled by mypyc when a compiler is there.
"""

import logging
from typing import Final

import trio

from trimq.broker.config import BrokerConfig, corrects_offsets
from trimq.broker.consume.arrivals import Arrivals
from trimq.broker.consume.broadcast_offsets import BroadcastOffsets
from trimq.broker.consume.checks import PullChecks
from trimq.broker.consume.long_polling import LongPolling, is_held
from trimq.broker.consume.outcomes import (
    Awaiting,
    Cold,
    Compacted,
    Elsewhere,
    Pull,
    Refused,
    Sifting,
    Unread,
    pull_code,
    store_topic,
)
from trimq.broker.consume.pull_commits import PullCommits
from trimq.broker.consume.static_pulls import PartPull
from trimq.broker.consume.suggested_broker import suggested_broker
from trimq.broker.consume.topic_kinds import TopicKinds
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.records import judge_cold, load_cold
from trimq.broker.stats.traffic import Traffic
from trimq.broker.tables.attributes import is_compacted
from trimq.broker.topics.static_queues import refused
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.fast import PullHeader, encode_pull_response
from trimq.remoting.errors import RemotingError
from trimq.remoting.peer import Peer, ReplyBody
from trimq.store.errors import MessagesGone, StoreError
from trimq.store.message_store import MessageStore
from trimq.store.reading.pulls import MAX_PULL_BYTES, ReadResult, ReadStatus

log = logging.getLogger("trimq.consume")

# What another broker may answer to a pull.
_PULL_CODES: frozenset[int] = frozenset(
    (
        ResponseCode.SUCCESS,
        ResponseCode.PULL_NOT_FOUND,
        ResponseCode.PULL_RETRY_IMMEDIATELY,
        ResponseCode.PULL_OFFSET_MOVED,
    )
)
# What a compacted queue says of an offset that it does not have.
_CORRECTED: frozenset[ReadStatus] = frozenset(
    (ReadStatus.NO_MESSAGE_IN_QUEUE, ReadStatus.OFFSET_OVERFLOW_BADLY)
)
# The values of `name`, which an enumeration computes each time.
_NAMES: dict[ReadStatus, str] = {status: status.name for status in ReadStatus}
# More than that keeps the loop for longer than to let a thread send it, unless it has just been written.
_LARGE: Final = 128 * 1024
_RESET_REMARK = "OFFSET_RESET"
Waiting = Awaiting | Cold | Compacted | Elsewhere | Sifting | Unread


class Pulling:
    """Decides pulls, and continues those that need something."""

    def __init__(
        self,
        config: BrokerConfig,
        checks: PullChecks,
        offsets: ConsumerOffsets,
        store: MessageStore,
        arrivals: Arrivals,
        traffic: Traffic,
        kinds: TopicKinds,
    ) -> None:
        self._elastic = kinds.elastic
        self._compaction = kinds.compaction
        self._config = config
        self._checks = checks
        self._offsets = offsets
        self._commits = PullCommits(offsets)
        self._store = store
        self._arrivals = arrivals
        self._polling = LongPolling(config, store, arrivals, kinds.elastic)
        self._traffic = traffic
        self._static = kinds.static
        # Told of what members of broadcasting groups pull; set where it is put together.
        self.broadcasts: BroadcastOffsets | None = None

    def pull(
        self, header: PullHeader, peer: Peer, lite: bool, forwarded: bool
    ) -> Pull | Refused | Waiting:
        """The answer, or what it needs: give that to `finish`. The flags are those of Pull."""
        return self._decide(Pull(header, peer, lite, forwarded), True, True)

    async def finish(self, waiting: Waiting) -> Pull | Refused:
        """The answer, after waiting for a message, for the disk or for another broker.

        LimitReached when no more pulls may wait; RemotingError when the disk or the other broker
        fails.
        """
        may_hold = True
        outcome: Pull | Refused | Waiting = waiting
        while True:
            if isinstance(outcome, Awaiting):
                await self._polling.hold(outcome)
                may_hold = False
                # One message may answer many pulls of a peer: it has to read what it gets.
                await outcome.pull.peer.room()
            elif isinstance(outcome, Cold):
                if await self._load(outcome):
                    return outcome.pull
            elif isinstance(outcome, Elsewhere):
                return await self._forward(outcome.pull, outcome.part)
            elif isinstance(outcome, Sifting):
                outcome = await self._sift(outcome)
                continue
            elif isinstance(outcome, Compacted):
                outcome = await self._read_compacted(outcome)
                continue
            elif isinstance(outcome, Unread):
                await self._checks.expressions.read([outcome.text], outcome.pull.peer)
            else:
                return outcome
            asked = outcome.pull
            again = Pull(asked.asked, asked.peer, asked.lite, asked.forwarded)
            is_first = isinstance(outcome, Unread) and outcome.is_first
            outcome = self._decide(again, may_hold, is_first)

    def _decide(self, pull: Pull, may_hold: bool, is_first: bool) -> Pull | Refused | Waiting:
        """What the queue has for the pull now. Only its first look commits the consumer's offset."""
        refused = self._checks.check(pull)
        if refused is not None:
            return refused
        if pull.unread is not None:
            return Unread(pull, pull.unread, is_first)
        header, part = pull.header, pull.part
        if part is not None and not part.is_here:
            return Elsewhere(pull, part)
        is_elastic = header.topic in self._elastic.topics
        if is_elastic:
            # A gate may wait for this very commit.
            self._commits.own(pull, is_first)
            is_first = False
        pull.wakes = self._arrivals.version
        reset = self._take_reset(pull, is_elastic)
        if reset is not None and self._offsets.keeps_resets(header.topic):
            return self._reset(pull, reset, is_first)
        if is_elastic:
            self._elastic.look(pull)
        topic, queue_id, offset = store_topic(header), header.queue_id, header.queue_offset
        count = header.max_msg_nums
        if self._compaction is not None and is_compacted(pull.topic.attributes):
            return Compacted(pull, may_hold, is_first)
        if pull.filter is None:
            # The client's own maxMsgBytes has no effect in 5.5.0.
            found = self._store.read(
                topic, queue_id, offset, count, MAX_PULL_BYTES, pull.codes, pull.until
            )
            return self._conclude(pull, found, may_hold, is_first)
        scan = self._store.scan(topic, queue_id, offset, count, pull.filter, pull.until)
        if scan.is_paused:
            return Sifting(pull, scan, may_hold, is_first)
        return self._conclude(pull, scan.result, may_hold, is_first)

    def _conclude(
        self,
        pull: Pull,
        found: ReadResult,
        may_hold: bool,
        is_first: bool,
        body: ReplyBody | None = None,
    ) -> Pull | Waiting:
        """What was found is an answer, or the pull has to wait. `body`: if it had to be read already."""
        header, part = pull.header, pull.part
        self._commits.after_reading(pull, found.next_begin_offset, is_first)
        code = self._code(pull, found)
        remark: str | None = _NAMES[found.status]
        fields: dict[str, str] | None = None
        if part is not None:
            fields = self._fields(pull, found)
            code = part.rewrite(code, fields)
            if code != ResponseCode.SUCCESS:
                remark = None
        if may_hold and is_held(code, header):
            return Awaiting(pull, found.max_offset)
        if code == ResponseCode.PULL_OFFSET_MOVED and not corrects_offsets(self._config):
            # Its master may have what it has not (DefaultPullMessageResultHandler).
            code = ResponseCode.PULL_RETRY_IMMEDIATELY
            if fields is None:
                fields = self._fields(pull, found)
            fields["suggestWhichBrokerId"] = str(pull.group.broker_id)
        if code == ResponseCode.PULL_OFFSET_MOVED:
            log.warning(
                "pull offset moved group=%s topic=%s queue=%d from=%d to=%d status=%s",
                header.consumer_group,
                header.topic,
                header.queue_id,
                header.queue_offset,
                found.next_begin_offset,
                found.status.name,
            )
        pull.code = code
        pull.remark = remark
        pull.fields = self._fields(pull, found) if fields is None else fields
        if not found.message_count:
            self._traffic.missed += 1
            return pull
        if body is None:
            body = self._bytes(pull, found)
        if body is None:
            return Cold(pull, found)
        self._hand_out(pull, found, body)
        return pull

    def _code(self, pull: Pull, found: ReadResult) -> int:
        """What the answer will say; a member of a broadcasting group has come that far."""
        code: int = pull_code(found.status, pull.header.queue_offset)
        if self.broadcasts is not None:
            self.broadcasts.pulled(pull, code, found.next_begin_offset)
        return code

    def _hand_out(self, pull: Pull, found: ReadResult, body: ReplyBody) -> None:
        header = pull.header
        pull.body = body
        self._traffic.handed_out(
            header.consumer_group, header.topic, found.message_count, found.byte_count
        )

    def _bytes(self, pull: Pull, found: ReadResult) -> ReplyBody | None:
        """What can be had without waiting for the disk; reading a bad page here would end the process."""
        store, peer = self._store, pull.peer
        if found.byte_count > _LARGE and peer.takes_files:
            extents = found.extents
            if not store.is_hot(extents[0][0]):
                return store.files(extents)
        joined = store.join(found)
        if joined is not None:
            return joined
        if not peer.takes_views:
            return store.load(found.extents)
        body: ReplyBody | None = store.view(found.extents)
        if body is None and peer.takes_files:
            body = store.files(found.extents)
        return body

    async def _sift(self, sifting: Sifting) -> Pull | Waiting:
        """Look at the rest of what the pull looks at, in steps; what is on the disk in a worker thread."""
        scan = sifting.scan
        while scan.is_paused:
            if scan.cold:
                try:
                    await judge_cold(self._store, scan)
                except MessagesGone as error:
                    log.info("messages were deleted while they were filtered: reason=%s", error)
                except StoreError as failure:
                    raise _unreadable(failure) from None
            else:
                await trio.lowlevel.checkpoint()
            scan.go_on()
        return self._conclude(sifting.pull, scan.result, sifting.may_hold, sifting.is_first)

    async def _read_compacted(self, compacted: Compacted) -> Pull | Waiting:
        """No filter counts: neither do messages leave out others there."""
        pull = compacted.pull
        header = pull.header
        assert self._compaction is not None
        try:
            found, records, end = await self._compaction.read(
                header.topic, header.queue_id, header.queue_offset, header.max_msg_nums
            )
        except StoreError as failure:
            raise _unreadable(failure) from None
        if found.status in _CORRECTED and not corrects_offsets(self._config):
            found.next_begin_offset = header.queue_offset
        outcome = self._conclude(
            pull, found, compacted.may_hold, compacted.is_first, b"".join(records)
        )
        if isinstance(outcome, Awaiting):
            outcome.end = max(outcome.end, end)
        return outcome

    async def _load(self, cold: Cold) -> bool:
        """Complete the answer; whether its messages were still there."""
        try:
            body = await load_cold(self._store, cold.found.extents)
        except MessagesGone as error:
            log.info("messages were deleted while they were read: reason=%s", error)
            return False
        except StoreError as failure:
            raise _unreadable(failure) from None
        self._hand_out(cold.pull, cold.found, body)
        return True

    async def _forward(self, pull: Pull, part: PartPull) -> Pull:
        """The answer of the broker that has the part."""
        reply = await self._static.reply(part.part, RequestCode.PULL_MESSAGE, part.forwarded())
        if reply.code not in _PULL_CODES:
            raise refused(reply, part.part)
        pull.fields = dict(reply.ext_fields)
        pull.code = part.rewrite(reply.code, pull.fields)
        if pull.code == ResponseCode.SUCCESS:
            # As RpcClientUtils makes replies.
            pull.remark = ""
            pull.body = reply.body
        return pull

    def _take_reset(self, pull: Pull, is_elastic: bool) -> int | None:
        """Where an operator has moved the group. An owner that has lost the queue does not hear of it."""
        if is_elastic and self._elastic.is_anothers(pull):
            return None
        header = pull.header
        return self._offsets.take_reset(header.consumer_group, header.topic, header.queue_id)

    def _reset(self, pull: Pull, offset: int, is_first: bool) -> Pull:
        """An operator has moved the group: go on there."""
        header = pull.header
        found = ReadResult(
            ReadStatus.OFFSET_TOO_SMALL,
            offset,
            self._store.min_offset(header.topic, header.queue_id),
            self._store.max_offset(header.topic, header.queue_id),
        )
        self._commits.after_reading(pull, offset, is_first)
        fields = self._fields(pull, found)
        if pull.part is not None:
            # The real broker checks the code once more, and tells a consumer that has read
            # everything to wait.
            pull.part.translate(fields)
        log.info(
            "pull offset reset group=%s topic=%s queue=%d from=%d to=%d",
            header.consumer_group,
            header.topic,
            header.queue_id,
            header.queue_offset,
            offset,
        )
        pull.code = ResponseCode.PULL_OFFSET_MOVED
        pull.remark = _RESET_REMARK
        pull.fields = fields
        return pull

    def _fields(self, pull: Pull, found: ReadResult) -> dict[str, str]:
        return encode_pull_response(
            suggested_broker(self._config, pull, found),
            found.next_begin_offset,
            found.min_offset,
            found.max_offset,
            None,
            pull.topic.topic_sys_flag,
            pull.group.group_sys_flag,
        )


def _unreadable(failure: StoreError) -> RemotingError:
    log.error("reading messages failed: reason=%s", failure)
    return RemotingError(ResponseCode.SYSTEM_ERROR, f"reading the messages failed: {failure}")
