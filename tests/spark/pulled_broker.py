"""A broker and its NameServer in one, of queues that tests take messages away from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from tests.spark.serving import running
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.cluster import ClusterInfo
from trimq.codec.bodies.route import BrokerData
from trimq.codec.bodies.static_topics import TopicConfigAndQueueMapping
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RESPONSE_BIT, RemotingCommand
from trimq.codec.records.record import encode_record
from trimq.spark.options.parsing import read_options
from trimq.spark.options.values import Connection, Expression, Pulls, ReadOptions
from trimq.spark.queues import Range
from trimq.spark.reading import kept_connections
from trimq.spark.reading.partition import read_ranges

HOST = b"\x7f\0\0\1\0\0\x2a\x9f"
# (code, next offset, records); a code below 0 hangs up
Answer = tuple[int, int, list[int]]


class Broker:
    """Every queue has offsets `first` up to `last`; the log has lost what comes before `log_begins`.

    `wanted` is the broker's filter, where the subscription is not `*`.
    """

    def __init__(self, first: int = 0, last: int = 100, log_begins: int = 0) -> None:
        self.first, self.last, self.log_begins = first, last, log_begins
        self.addr = ""
        self.master = ""
        self.policy = "DELETE"
        self.asked: list[int] = []
        self.special: Callable[[int, int], Answer | None] = lambda number, offset: None
        self.wanted: Callable[[int], bool] = lambda offset: offset % 2 == 0

    def answer(self, request: RemotingCommand) -> RemotingCommand | None:
        body = b""
        if request.code == RequestCode.GET_BROKER_CLUSTER_INFO:
            data = BrokerData(broker_addrs={0: self.master or self.addr}, broker_name="b")
            body = encode_body(ClusterInfo(broker_addr_table={"b": data}))
        elif request.code == RequestCode.GET_TOPIC_CONFIG:
            attributes = {"cleanup.policy": self.policy}
            body = encode_body(TopicConfigAndQueueMapping(attributes=attributes))
        else:
            return self._pulled(request)
        return RemotingCommand(ResponseCode.SUCCESS, request.opaque, RESPONSE_BIT, "", {}, body)

    def _pulled(self, request: RemotingCommand) -> RemotingCommand | None:
        fields = request.ext_fields
        offset, most = int(fields["queueOffset"]), int(fields["maxMsgNums"])
        self.asked.append(offset)
        code, following, records = self._answer(offset, most, fields["subscription"] != "*")
        if code < 0:
            return None
        answered = {
            "suggestWhichBrokerId": "0",
            "nextBeginOffset": str(following),
            "minOffset": str(self.first),
            "maxOffset": str(self.last),
        }
        body = b"".join(record(one, int(fields["queueId"])) for one in records)
        return RemotingCommand(code, request.opaque, RESPONSE_BIT, "why", answered, body)

    def _answer(self, offset: int, most: int, filtered: bool) -> Answer:
        special = self.special(len(self.asked), offset)
        if special is not None:
            return special
        if offset < self.first:
            return ResponseCode.PULL_OFFSET_MOVED, self.first, []
        if offset == self.last:
            return ResponseCode.PULL_NOT_FOUND, self.last, []
        if offset > self.last:
            return ResponseCode.PULL_OFFSET_MOVED, self.last, []
        records: list[int] = []
        while offset < self.last and len(records) < most:
            if offset >= self.log_begins and not (filtered and not self.wanted(offset)):
                records.append(offset)
            offset += 1
        code = ResponseCode.SUCCESS if records else ResponseCode.PULL_RETRY_IMMEDIATELY
        return code, offset, records


def record(offset: int, queue: int = 0) -> bytes:
    return encode_record(b"T", queue, 0, offset, offset * 200, 0, 1, HOST, 2, HOST, 0, 0, b"b", b"")


@contextmanager
def serving(broker: Broker) -> Iterator[Broker]:
    with running(broker) as addr:
        broker.addr = addr
        try:
            yield broker
        finally:
            kept_connections.close_all()


def options(broker: Broker, fail: bool = True, outage: float = 20, sql: str = "") -> ReadOptions:
    """How to read from it; any `sql` stands for the broker's filter."""
    expression = Expression(sql, "SQL92") if sql else Expression("*", "TAG")
    read = read_options({"namesrv": broker.addr, "topic": "T"})
    return replace(
        read,
        connection=Connection(broker.addr, 5, 0, None, outage=outage),
        pulls=Pulls(expression, "g", 32, 4, fail),
    )


def pull(
    broker: Broker,
    start: int = 0,
    end: int = 100,
    fail: bool = True,
    sql: str = "",
    outage: float = 20,
    queues: int = 1,
) -> list[int]:
    """The offsets that are read, in the order in which they come."""
    parts = [Range("T", "b", queue, broker.addr, start, end) for queue in range(queues)]
    found: list[int] = []
    for batch in read_ranges(parts, options(broker, fail, outage, sql), ["queueOffset"]):
        found += batch.column(0).to_pylist()
    return found
