"""What PULL_MESSAGE and LITE_PULL_MESSAGE have in common: reading a queue, or waiting for it.

PullMessageProcessor and DefaultPullMessageResultHandler: a pull that finds nothing and asked for it
is held; when it is woken, or its time is up, everything is looked at once more and the answer is
whatever that gives, only that it is not held again.

Messages leave as the buffers that the store has; what it would have to fetch from disk is read in a
worker thread.
"""

import logging

import trio

from trimq.broker.arrivals import Arrivals, TooManyHeld
from trimq.broker.config import BrokerConfig
from trimq.broker.identity import MASTER_ID
from trimq.broker.offsets import ConsumerOffsets
from trimq.broker.records import load_cold
from trimq.broker.static_queues import StaticQueues, refused
from trimq.broker.traffic import Traffic
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.flags import PullFlag
from trimq.codec.headers.fast import PullHeader, encode_pull_response
from trimq.processors.consume._answers import PullForbidden
from trimq.processors.consume._checks import Allowed, PullChecks
from trimq.processors.consume._static_pulls import LiesElsewhere, PartPull
from trimq.remoting.contract import Body, LimitReached, RemotingError, Request, Response
from trimq.store.errors import MessagesGone, StoreError
from trimq.store.message_store import MessageStore
from trimq.store.reading import MAX_PULL_BYTES, ReadResult, ReadStatus

log = logging.getLogger("trimq.consume")

_CODES: dict[ReadStatus, ResponseCode] = {
    ReadStatus.FOUND: ResponseCode.SUCCESS,
    ReadStatus.NO_MATCHED_MESSAGE: ResponseCode.PULL_RETRY_IMMEDIATELY,
    ReadStatus.MESSAGE_WAS_REMOVING: ResponseCode.PULL_RETRY_IMMEDIATELY,
    ReadStatus.OFFSET_FOUND_NULL: ResponseCode.PULL_NOT_FOUND,
    ReadStatus.OFFSET_OVERFLOW_ONE: ResponseCode.PULL_NOT_FOUND,
    ReadStatus.OFFSET_OVERFLOW_BADLY: ResponseCode.PULL_OFFSET_MOVED,
    ReadStatus.OFFSET_TOO_SMALL: ResponseCode.PULL_OFFSET_MOVED,
}
# What another broker may answer to a pull.
_PULL_CODES: frozenset[int] = frozenset(
    (
        ResponseCode.SUCCESS,
        ResponseCode.PULL_NOT_FOUND,
        ResponseCode.PULL_RETRY_IMMEDIATELY,
        ResponseCode.PULL_OFFSET_MOVED,
    )
)
# What `name` gives, which an enumeration works out anew each time.
_NAMES: dict[ReadStatus, str] = {status: status.name for status in ReadStatus}
_RESET_REMARK = "OFFSET_RESET"
PullRequest = Request[PullHeader]


class _Hold(Exception):
    """Nothing there: wait for a message with one of these tags."""

    def __init__(self, header: PullHeader, codes: frozenset[int] | None) -> None:
        super().__init__()
        self.header = header
        self.codes = codes


class _Cold(Exception):
    """The response lacks its body: these extents have to be read from disk."""

    def __init__(self, response: Response, extents: list[tuple[int, int]]) -> None:
        super().__init__()
        self.response = response
        self.extents = extents


class Pulling:
    """Answers pulls."""

    def __init__(
        self,
        config: BrokerConfig,
        checks: PullChecks,
        offsets: ConsumerOffsets,
        store: MessageStore,
        arrivals: Arrivals,
        traffic: Traffic,
        static: StaticQueues,
    ) -> None:
        self._config = config
        self._checks = checks
        self._offsets = offsets
        self._store = store
        self._arrivals = arrivals
        self._traffic = traffic
        self._static = static

    def answer_at_once(self, request: PullRequest) -> Response | None:
        """The answer if it is there without waiting."""
        try:
            return self._answer(request, may_hold=True)
        except (_Hold, _Cold, LiesElsewhere):
            return None

    async def answer(self, request: PullRequest) -> Response:
        """The answer, after waiting for messages or for the disk as need be."""
        try:
            return await self._load(request, may_hold=True)
        except _Hold as hold:
            header, codes = hold.header, hold.codes
        await self._wait(header, codes)
        # One message may answer many pulls of a peer: it has to read what it gets.
        await request.peer.room()
        return await self._load(request, may_hold=False)

    async def _load(self, request: PullRequest, may_hold: bool) -> Response:
        while True:
            try:
                return self._answer(request, may_hold)
            except _Cold as cold:
                response, extents = cold.response, cold.extents
            except LiesElsewhere as elsewhere:
                return await self._forward(elsewhere.pull)
            try:
                response.body = await load_cold(self._store, extents)
            except MessagesGone as error:
                # Their file was deleted while they were read: what is there now?
                log.info("messages were deleted while they were read: reason=%s", error)
            except StoreError as failure:
                log.error("reading messages failed: reason=%s", failure)
                raise RemotingError(
                    ResponseCode.SYSTEM_ERROR, f"reading the messages failed: {failure}"
                ) from None
            else:
                return response

    async def _forward(self, pull: PartPull) -> Response:
        """The answer of the broker that has the part."""
        reply = await self._static.reply(pull.part, RequestCode.PULL_MESSAGE, pull.forwarded())
        if reply.code not in _PULL_CODES:
            raise refused(reply, pull.part)
        fields = dict(reply.ext_fields)
        code = pull.rewrite(reply.code, fields)
        if code == ResponseCode.SUCCESS:
            # As RpcClientUtils makes replies.
            return Response(code, "", ext_fields=fields, body=reply.body)
        return Response(code, None, ext_fields=fields)

    async def _wait(self, header: PullHeader, codes: frozenset[int] | None) -> None:
        """Until the queue is worth another look; LimitReached when no more pulls can be held."""
        if not self._config.long_polling_enable:
            await trio.sleep(self._config.short_polling_time_mills / 1000)
            return
        if header.suspend_timeout_millis is None:
            raise CodecError("PullMessageRequestHeader needs the field 'suspendTimeoutMillis'")
        seconds = max(header.suspend_timeout_millis, 0) / 1000
        if self._config.max_suspend_seconds:
            seconds = min(seconds, self._config.max_suspend_seconds)
        try:
            await self._arrivals.wait(
                store_topic(header), header.queue_id, header.queue_offset, codes, seconds
            )
        except TooManyHeld:
            raise LimitReached(
                ResponseCode.SYSTEM_BUSY,
                "[HELD_PULLS]broker busy, too many pulls are held (maxHeldPulls)",
                "maxHeldPulls",
            ) from None

    def _answer(self, request: PullRequest, may_hold: bool) -> Response:
        try:
            allowed = self._checks.check(request)
        except PullForbidden as error:
            return Response(error.code, error.remark, ext_fields={"forbiddenType": str(error.kind)})
        header, part = allowed.header, allowed.part
        reset = self._offsets.take_reset(header.consumer_group, header.topic, header.queue_id)
        if reset is not None and self._config.use_server_side_reset_offset:
            return self._reset(request, allowed, reset, may_hold)
        found = self._store.read(
            store_topic(header),
            header.queue_id,
            header.queue_offset,
            header.max_msg_nums,
            # The client's own maxMsgBytes has no effect in 5.5.0.
            MAX_PULL_BYTES,
            allowed.codes,
        )
        self._commit(request, header, found.next_begin_offset, may_hold)
        code: int = pull_code(found.status, header.queue_offset)
        remark: str | None = _NAMES[found.status]
        fields: dict[str, str] | None = None
        if part is not None:
            fields = self._fields(allowed, found)
            code = part.rewrite(code, fields)
            if code != ResponseCode.SUCCESS:
                remark = None
        if code == ResponseCode.PULL_NOT_FOUND and may_hold and header.sys_flag & PullFlag.SUSPEND:
            raise _Hold(header, allowed.codes)
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
        if fields is None:
            fields = self._fields(allowed, found)
        response = Response(code, remark, ext_fields=fields)
        if not found.message_count:
            self._traffic.missed += 1
        else:
            self._traffic.handed_out(
                header.consumer_group, header.topic, found.message_count, found.byte_count
            )
            body = self._bytes(request, found)
            if body is None:
                raise _Cold(response, found.extents)
            response.body = body
        return response

    def _bytes(self, request: PullRequest, found: ReadResult) -> Body | None:
        """What needs no waiting for the disk; a page that cannot be read would kill who looks at it."""
        joined = self._store.join(found)
        if joined is not None:
            return joined
        if request.peer.takes_views:
            return self._store.view(found.extents)
        return self._store.load(found.extents)

    def _reset(
        self, request: PullRequest, allowed: Allowed, offset: int, may_hold: bool
    ) -> Response:
        """An operator has moved the group: go on there."""
        header = allowed.header
        found = ReadResult(
            ReadStatus.OFFSET_TOO_SMALL,
            offset,
            self._store.min_offset(header.topic, header.queue_id),
            self._store.max_offset(header.topic, header.queue_id),
        )
        self._commit(request, header, offset, may_hold)
        fields = self._fields(allowed, found)
        if allowed.part is not None:
            # The real broker looks at the code once more, and tells who has read all to wait.
            allowed.part.translate(fields)
        log.info(
            "pull offset reset group=%s topic=%s queue=%d from=%d to=%d",
            header.consumer_group,
            header.topic,
            header.queue_id,
            header.queue_offset,
            offset,
        )
        return Response(
            ResponseCode.PULL_OFFSET_MOVED,
            _RESET_REMARK,
            ext_fields=fields,
        )

    def _commit(
        self, request: PullRequest, header: PullHeader, next_offset: int, first_look: bool
    ) -> None:
        """tryCommitOffset: the pulled offset always, the consumer's own once if it asks for it."""
        group, topic, queue_id = header.consumer_group, header.topic, header.queue_id
        self._offsets.commit_pull(group, topic, queue_id, next_offset)
        if first_look and header.sys_flag & PullFlag.COMMIT_OFFSET:
            if header.commit_offset is None:
                raise CodecError("PullMessageRequestHeader needs the field 'commitOffset'")
            client = request.peer.remote_addr
            self._offsets.commit(client, group, topic, queue_id, header.commit_offset)

    def _fields(self, allowed: Allowed, found: ReadResult) -> dict[str, str]:
        suggested = MASTER_ID
        if self._config.slave_read_enable:
            group = allowed.group
            suggested = (
                group.which_broker_when_consume_slowly if found.suggest_slave else group.broker_id
            )
        return encode_pull_response(
            suggested,
            found.next_begin_offset,
            found.min_offset,
            found.max_offset,
            None,
            allowed.topic.topic_sys_flag,
            allowed.group.group_sys_flag,
        )


def pull_code(status: ReadStatus, asked_offset: int) -> ResponseCode:
    """What a queue's state means to the client (composeResponseHeader)."""
    code = _CODES.get(status)
    if code is not None:
        return code
    # An empty queue: only offset 0 is right there.
    return ResponseCode.PULL_OFFSET_MOVED if asked_offset else ResponseCode.PULL_NOT_FOUND


def store_topic(header: PullHeader) -> str:
    """Lite topics are light queues of their parent (LiteUtil.toLmqName)."""
    lite_topic = header.lite_topic
    if lite_topic and not lite_topic.isspace():
        return f"%LMQ%${header.topic}${lite_topic}"
    return header.topic
