"""Sends and pulls of the topic Flush, each on a connection of its own, for servers whose disk is the matter."""

from tests.requests import pull_header, send_header
from trimq.codec.codes import RequestCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.offsets import GetMaxOffsetRequestHeader
from trimq.remoting.clients.blocking import BlockingClient

TOPIC = "Flush"
QUEUES = 16


def send(
    addr: str, queue_id: int = 0, body: bytes = b"body", properties: str = ""
) -> RemotingCommand:
    header = send_header(
        TOPIC, default_topic_queue_nums=QUEUES, queue_id=queue_id, properties=properties
    )
    with BlockingClient(addr, timeout=60) as client:
        return client.request(RequestCode.SEND_MESSAGE, header, body)


def pull(addr: str, offset: int, wait_millis: int = 0) -> RemotingCommand:
    """One message of queue 0, by a group that every broker has."""
    header = pull_header("CID_ONS-HTTP-PROXY", TOPIC, offset, most=1, wait_millis=wait_millis)
    with BlockingClient(addr, timeout=60) as client:
        return client.request(RequestCode.PULL_MESSAGE, header)


def max_offset(addr: str, queue_id: int = 0) -> int:
    """Where a reader is told that the queue ends."""
    header = GetMaxOffsetRequestHeader(topic=TOPIC, queue_id=queue_id)
    with BlockingClient(addr, timeout=60) as client:
        return int((client.request(RequestCode.GET_MAX_OFFSET, header).ext_fields or {})["offset"])
