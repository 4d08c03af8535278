"""Topics and backlogs that loads find there, and stores whose pages the kernel has forgotten."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

from tests.patience import until
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.topics import CreateTopicListRequestBody, TopicConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.namesrv import GetRouteInfoRequestHeader
from trimq.codec.headers.send import SendMessageRequestHeaderV2
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.remoting.clients.blocking import BlockingClient

QUEUES: Final = 4
_BATCH: Final = 100
_TOPICS_A_REQUEST: Final = 500
_QUIET_SECONDS: Final = 22
_FILES_SECONDS: Final = 300


def create_topics(addr: str, names: list[str], queues: int) -> None:
    """By admin request, hundreds in one."""
    with BlockingClient(addr, timeout=60) as client:
        for at in range(0, len(names), _TOPICS_A_REQUEST):
            wanted = [
                TopicConfig(topic_name=name, read_queue_nums=queues, write_queue_nums=queues)
                for name in names[at : at + _TOPICS_A_REQUEST]
            ]
            body = encode_body(CreateTopicListRequestBody(topic_config_list=wanted))
            answer = client.request(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, body=body)
            if answer.code != ResponseCode.SUCCESS:
                raise RuntimeError(f"topics not created: {answer.code} {answer.remark}")


def fill(broker_addr: str, topic: str, count: int, size: int, *, numbered: bool = False) -> None:
    """So many messages of that body size, over all queues, in batches.

    `numbered`: a property n has each of the numbers from 0 to 99 in a hundredth of them.
    """
    own = [b"n\1%d\2" % n if numbered else b"" for n in range(_BATCH)]
    body = join_batch([BatchItem(0, b"x" * size, b"TAGS\1TagA\2" + one) for one in own])
    with BlockingClient(broker_addr, timeout=30) as client:
        for number in range(count // _BATCH):
            header = SendMessageRequestHeaderV2(
                producer_group="bench",
                topic=topic,
                default_topic="TBW102",
                default_topic_queue_nums=QUEUES,
                queue_id=number % QUEUES,
                sys_flag=0,
                born_timestamp=time.time_ns() // 1_000_000,
                flag=0,
                batch=True,
            )
            answer = client.request(RequestCode.SEND_BATCH_MESSAGE, header, body)
            if answer.code != ResponseCode.SUCCESS:
                raise RuntimeError(f"filling failed: {answer.code} {answer.remark}")


def wait_for_route(namesrv_addr: str, topic: str) -> None:
    """The real broker tells the NameServer of its topics now and then only; every 30 s at the latest."""
    asked = GetRouteInfoRequestHeader(topic=topic)
    with BlockingClient(namesrv_addr) as client:

        def is_known() -> bool:
            answer = client.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, asked)
            return answer.code == ResponseCode.SUCCESS

        until(is_known, f"a route of {topic}")


def wait_for_queue_files(store: Path) -> None:
    """Until no more queue files appear: where thousands were deleted a moment ago, ext4 is slow to make new ones."""
    before, deadline = -1, time.monotonic() + _FILES_SECONDS
    while time.monotonic() < deadline:
        found = sum(1 for _ in (store / "consumequeue").glob("*/*/*"))
        if found == before:
            return
        before = found
        # Longer than the pause between two checkpoints, for which thousands of queues are written.
        time.sleep(_QUIET_SECONDS)
    raise RuntimeError(f"queue files still appear in {store} after {_FILES_SECONDS} s: {before}")


def forget_pages(folder: Path) -> None:
    """Ask the kernel to drop the files' pages; they have to be on disk already."""
    for path in folder.rglob("*"):
        if path.is_file():
            fd = os.open(path, os.O_RDONLY)
            try:
                os.fsync(fd)
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(fd)
