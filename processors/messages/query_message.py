"""QUERY_MESSAGE: messages by key, by unique key, or by tag (QueryMessageProcessor).

Only hashes are compared here, so that a few other messages may be among them: clients compare the
keys.
"""

from typing import Final

import trio

from trimq.broker.records import fetch_buffers
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.frame import FRAME_LIMIT
from trimq.codec.headers.messages import QueryMessageRequestHeader, QueryMessageResponseHeader
from trimq.remoting.contract import Later, LimitReached, Processor, RemotingError, Request, Response
from trimq.store.config import StoreConfig
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore

# Set by clients that look for a unique key (MixAll.UNIQUE_MSG_QUERY_FLAG).
UNIQUE_KEY_FLAG: Final = "_UNIQUE_KEY_QUERY"
# Searches that run side by side: they must not take all the worker threads from flushes.
SEARCHES_AT_ONCE: Final = 2
# A client closes the connection over a larger frame; the real broker sends it all the same.
LARGEST_BODY: Final = FRAME_LIMIT - 64 * 1024


class QueryMessage(Processor[QueryMessageRequestHeader]):
    codes = (RequestCode.QUERY_MESSAGE,)
    shows_no_fields = True
    header = QueryMessageRequestHeader

    def __init__(self, config: StoreConfig, store: MessageStore) -> None:
        self._config = config
        self._store = store
        self._searches = trio.CapacityLimiter(SEARCHES_AT_ONCE)

    def handle(self, request: Request[QueryMessageRequestHeader]) -> Later:
        return Later(request, self._answer, keeps_body=False)

    async def _answer(self, request: Request[QueryMessageRequestHeader]) -> Response:
        header = request.header
        max_count = header.max_num
        if request.ext_fields.get(UNIQUE_KEY_FLAG, "").lower() == "true":
            max_count = self._config.default_query_max_num
            header.index_type = None
        if max_count < 0:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, f"maxNum is {max_count}, and cannot be negative"
            )
        search = self._store.plan_query(
            # As Java appends null to a text: no message has these.
            header.topic or "null",
            header.key or "null",
            max_count,
            header.begin_timestamp,
            header.end_timestamp,
            header.index_type or "",
        )
        try:
            await trio.to_thread.run_sync(search.run, limiter=self._searches)
            if search.cut_short:
                raise LimitReached(
                    ResponseCode.SYSTEM_ERROR,
                    "too many messages have this key, or one with the same hash (maxIndexSteps);"
                    " ask for a shorter time",
                    "maxIndexSteps",
                )
            body = await fetch_buffers(self._store, search.offsets, LARGEST_BODY)
        except (OSError, StoreError) as error:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, f"searching the index failed: {error}"
            ) from error
        answer = QueryMessageResponseHeader(
            index_last_update_timestamp=search.updated_timestamp,
            index_last_update_phyoffset=search.updated_offset,
        )
        if not body:
            remark = "can not find message, maybe time range not correct"
            return Response(ResponseCode.QUERY_NOT_FOUND, remark, answer)
        return Response(header=answer, body=body)
