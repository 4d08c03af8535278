"""The answer to an END_TRANSACTION, at once or from the disk.

Hot: compiled by mypyc when a compiler is there.
"""

from typing import Final

from trimq.broker.produce.puts.receive_end import write_receive
from trimq.broker.produce.puts.rules import put_answer
from trimq.broker.records import ColdRecord, NoRecord, fetch_record, record_in_memory
from trimq.broker.transactions.ending import End, Ending, NotPending, TooLate, not_found
from trimq.broker.transactions.late_commits import LateCommits
from trimq.codec.codes import ResponseCode
from trimq.codec.flags import SysFlag
from trimq.codec.headers.fast import EndHeader
from trimq.codec.names import REMARK_LEFT
from trimq.codec.records.record import Record
from trimq.remoting.contract import Later, RemotingError, Request, Response
from trimq.store.config import StoreConfig
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore

_UNKNOWN: Final = int(SysFlag.NOT_TRANSACTION)
_COMMIT: Final = int(SysFlag.COMMIT)
_ROLLBACK: Final = int(SysFlag.ROLLBACK)


class EndReplies:
    __slots__ = ("_config", "_ending", "_late", "_store")

    def __init__(
        self, ending: Ending, late: LateCommits, store: MessageStore, config: StoreConfig
    ) -> None:
        self._ending = ending
        self._late = late
        self._store = store
        self._config = config

    def answer(self, request: Request[EndHeader]) -> Response | Later:
        """Of what is in memory; Later for what is not."""
        header = request.header
        if header.commit_or_rollback not in (_UNKNOWN, _COMMIT, _ROLLBACK):
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "commitOrRollback field wrong")
        if header.commit_or_rollback == _UNKNOWN:
            # Its producer does not know yet, and is asked later; also one that waits for an answer gets none.
            return Response(no_reply=True)
        end = _end_of(header)
        record = self._ending.record_of(end)
        if record is None:
            try:
                record = record_in_memory(self._store, end.physical_offset)
            except ColdRecord:
                return Later(request, self._from_disk, False)
            except NoRecord:
                raise not_found() from None
        try:
            return self._answer(end, record)
        except NotPending:
            if self._late.possible():
                return Later(request, self._from_disk, False)
            return _answered(end, -1)

    async def _from_disk(self, request: Request[EndHeader]) -> Response:
        """Of a record that is not in memory, or of a half that may have been given up."""
        end = _end_of(request.header)
        try:
            record = await fetch_record(self._store, end.physical_offset)
        except NoRecord:
            raise not_found() from None
        try:
            answer = self._answer(end, record)
        except NotPending:
            try:
                return _answered(end, await self._late.commit(record))
            except StoreError as error:
                raise RemotingError(
                    *put_answer(error, self._config, self._store.disk_use)
                ) from error
        # Its receive has ended.
        write_receive(self._store, self._config)
        return answer

    def _answer(self, end: End, record: Record) -> Response:
        try:
            answer = _answered(end, self._ending.end(end, record))
        except TooLate:
            # Another one that is only given a code.
            return Response(ResponseCode.ILLEGAL_OPERATION, REMARK_LEFT)
        if end.commit:
            answer.copied = record.total_size
        return answer


def _end_of(header: EndHeader) -> End:
    """RemotingError: it does not say where the half lies."""
    place, physical = header.tran_state_table_offset, header.commit_log_offset
    if physical is None:
        raise RemotingError(ResponseCode.SYSTEM_ERROR, "commitLogOffset is absent or no number")
    return End(
        header.producer_group or "",
        # The real broker looks at it last: no half lies at such a place.
        -1 if place is None else place,
        physical,
        header.commit_or_rollback == _COMMIT,
        header.from_transaction_check,
    )


def _answered(end: End, durable_at: int) -> Response:
    # A rollback leaves the remark that a reply is made with.
    response = Response(0, None if end.commit else REMARK_LEFT, None, None, b"", True)
    if durable_at >= 0:
        response.durable_at = durable_at
        # The message is stored and visible: the real broker says so.
        response.durable_timeout_code = ResponseCode.SUCCESS
    return response
