"""Sends and pulls of the topic Flush, each on a connection of its own, for servers whose disk is the matter."""

from tests.requests import send_header
from trimq.codec.codes import RequestCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.offsets import GetMaxOffsetRequestHeader
from trimq.codec.headers.pull import PullMessageRequestHeader
from trimq.remoting.clients.blocking import BlockingClient

TOPIC = "Flush"
QUEUES = 16
SUSPENDS = 2
HAS_SUBSCRIPTION = 4


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
    header = PullMessageRequestHeader(
        consumer_group="CID_ONS-HTTP-PROXY",
        topic=TOPIC,
        queue_id=0,
        queue_offset=offset,
        max_msg_nums=1,
        sys_flag=HAS_SUBSCRIPTION | (SUSPENDS if wait_millis else 0),
        commit_offset=0,
        suspend_timeout_millis=wait_millis,
        subscription="*",
        sub_version=0,
    )
    with BlockingClient(addr, timeout=60) as client:
        return client.request(RequestCode.PULL_MESSAGE, header)


def max_offset(addr: str, queue_id: int = 0) -> int:
    """Where a reader is told that the queue ends."""
    header = GetMaxOffsetRequestHeader(topic=TOPIC, queue_id=queue_id)
    with BlockingClient(addr, timeout=60) as client:
        return int((client.request(RequestCode.GET_MAX_OFFSET, header).ext_fields or {})["offset"])
