"""Pulls of static topics: which part of the queue they read, and what its answer means to clients.

PullMessageProcessor.rewriteRequestForStaticTopic and rewriteResponseForStaticTopic.

Hot: compiled by mypyc when a compiler is there.
"""

from trimq.broker.topics.static_queues import StaticQueue
from trimq.codec.bodies.static_topics import LogicQueueMappingItem
from trimq.codec.codes import ResponseCode
from trimq.codec.flags import PullFlag
from trimq.codec.headers.fast import PullHeader
from trimq.codec.headers.pull import PullMessageRequestHeader

NEXT, FIRST, LAST, DELTA = "nextBeginOffset", "minOffset", "maxOffset", "offsetDelta"


class PartPull:
    """One pull. `header` asks the part for what the client asked the queue for."""

    def __init__(self, asked: PullHeader, queue: StaticQueue) -> None:
        """RemotingError when this broker does not lead the queue."""
        if not queue.leads:
            raise queue.not_leader(
                f"{queue} cannot find mapping item in request process of current broker"
                f" {queue.broker_name}"
            )
        self._queue = queue
        self.part = queue.part_at(asked.queue_offset)
        self.is_here = queue.is_here(self.part)
        self.header = self._own(asked)

    def forwarded(self) -> PullMessageRequestHeader:
        """The request for the broker that has the part: it must neither hold it nor commit for it."""
        header = self.header
        return PullMessageRequestHeader(
            consumer_group=header.consumer_group,
            topic=header.topic,
            lite_topic=header.lite_topic,
            queue_id=header.queue_id,
            queue_offset=header.queue_offset,
            max_msg_nums=header.max_msg_nums,
            sys_flag=header.sys_flag & ~(PullFlag.SUSPEND | PullFlag.COMMIT_OFFSET),
            # Fields that the real broker requires.
            commit_offset=header.commit_offset or 0,
            suspend_timeout_millis=header.suspend_timeout_millis or 0,
            subscription=header.subscription,
            sub_version=header.sub_version or 0,
            expression_type=header.expression_type,
            max_msg_bytes=header.max_msg_bytes,
            request_source=header.request_source,
            proxy_froward_client_id=header.proxy_froward_client_id,
            lo=False,
            bname=self.part.bname,
        )

    def rewrite(self, code: int, fields: dict[str, str]) -> int:
        """Turn the part's answer into the queue's: `fields` in place, and the new response code."""
        part = self.part
        following, first, last = int(fields[NEXT]), int(fields[FIRST]), int(fields[LAST])
        if code != ResponseCode.SUCCESS:
            after = self._queue.part_after(part)
            if self._is_read_out(last, after):
                if after is None:
                    code = ResponseCode.PULL_NOT_FOUND
                else:
                    code = ResponseCode.PULL_RETRY_IMMEDIATELY
                    part = after
                    following = first = last = part.start_offset
            else:
                code, following = self._corrected(code, following, first, last)
        if part.has_end:
            following = min(following, part.end_offset)
        fields[NEXT] = str(part.to_global(following))
        fields[FIRST] = str(part.to_global(max(part.start_offset, first)))
        fields[LAST] = str(max(part.to_global(last), self._queue.parts[-1].global_end))
        fields[DELTA] = str(part.offset_delta)
        return code

    def translate(self, fields: dict[str, str]) -> None:
        """The part's offsets as the queue's, in place."""
        self.rewrite(ResponseCode.SUCCESS, fields)

    @property
    def _is_leader(self) -> bool:
        return self.part.gen == self._queue.parts[-1].gen

    @property
    def _is_first(self) -> bool:
        return self.part.gen == self._queue.first_part().gen

    def _is_read_out(self, last: int, after: LogicQueueMappingItem | None) -> bool:
        """Whether the pull asked for what comes after an earlier part, or after the only one."""
        if self.header.queue_offset < last:
            return False
        return not self._is_leader or self._is_first

    def _corrected(self, code: int, following: int, first: int, last: int) -> tuple[int, int]:
        """The code and the part's own offset to continue with."""
        asked = self.header.queue_offset
        if asked < first:
            # Only the first part's beginning is the queue's; the others' messages were just
            # deleted.
            moved = self._is_first
            return (
                ResponseCode.PULL_OFFSET_MOVED if moved else ResponseCode.PULL_RETRY_IMMEDIATELY
            ), first
        if asked > last and code == ResponseCode.PULL_OFFSET_MOVED:
            return code, last
        return code, following

    def _own(self, asked: PullHeader) -> PullHeader:
        part = self.part
        most = asked.max_msg_nums
        if part.has_end:
            most = min(most, part.end_offset - part.start_offset)
        commit, sys_flag = asked.commit_offset, asked.sys_flag
        if commit is not None:
            # The real broker keeps the global offset as one of its own queue. The client itself
            # commits offsets in another part.
            if self._queue.part_at(commit).gen != part.gen:
                sys_flag &= ~PullFlag.COMMIT_OFFSET
            commit = max(part.to_own(commit), 0)
        return PullHeader(
            asked.consumer_group,
            asked.topic,
            part.queue_id,
            part.to_own(asked.queue_offset),
            most,
            int(sys_flag),
            commit,
            asked.suspend_timeout_millis,
            asked.sub_version,
            asked.subscription,
            asked.expression_type,
            asked.max_msg_bytes,
            asked.lite_topic,
            asked.request_source,
            asked.proxy_froward_client_id,
        )
