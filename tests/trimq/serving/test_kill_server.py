"""A whole server under load, killed with -9 at any moment, also while it recovers.

Every message that was answered SEND_OK is there afterwards, in order and once; whatever is served is
whole; committed offsets are as old as their last write at most.
"""

import random
import select
import socket
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.requests import send_header_v2
from tests.trimq.serving.killed import Place, Server, encode, pull, pull_all
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import decode_command
from trimq.codec.frames.frame import FrameBuffer
from trimq.codec.headers.offsets import (
    QueryConsumerOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.remoting.clients.blocking import BlockingClient
from trimq.remoting.errors import PeerGone, RemotingError

ROUNDS = 2
# A new store after this many kills, so that checking everything stays cheap.
PER_STORE = 10
TOPICS = ("KillA", "KillB")
QUEUES = 4
SENDERS = 3
PIPELINED = 48
# Answered messages after which a server is killed at the latest.
MOST = 3000
OFFSET_MILLIS = 500
# On top of the interval: until the write has begun and ended, on a busy machine.
OFFSET_GRACE = 4.0
SETTINGS = {
    "mappedFileSizeCommitLog": 128 * 1024,
    "mappedFileSizeConsumeQueue": 20 * 500,
    "flushConsumerOffsetInterval": OFFSET_MILLIS,
    "flushConsumeQueueThoroughInterval": 700,
    "flushIntervalConsumeQueue": 200,
}


class Sender(threading.Thread):
    """Sends without waiting for answers, some of it in batches; knows what was answered."""

    def __init__(self, addr: str, number: int, seed: int, enough: threading.Semaphore) -> None:
        super().__init__()
        host, _, port = addr.partition(":")
        self._socket = socket.create_connection((host, int(port)))
        self._socket.setblocking(False)
        self._chance = random.Random(seed)
        self._name = f"{seed}-{number}"
        self._enough = enough
        self._frames = FrameBuffer()
        self._opaque = 0
        self._waiting: dict[int, tuple[Place, list[bytes]]] = {}
        self.stored: list[tuple[Place, int, bytes]] = []
        self.sent: dict[Place, list[bytes]] = {}
        self.failed = ""

    def run(self) -> None:
        unsent = b""
        try:
            while True:
                if not unsent and len(self._waiting) < PIPELINED:
                    unsent = b"".join(
                        self._request() for _ in range(self._chance.randint(1, PIPELINED))
                    )
                readable, writable, _ = select.select(
                    [self._socket], [self._socket] if unsent else [], []
                )
                if writable:
                    unsent = unsent[self._socket.send(unsent) :]
                if readable and not self._receive():
                    return
        except OSError:
            return
        finally:
            self._socket.close()

    def _request(self) -> bytes:
        chance = self._chance
        self._opaque += 1
        place = (chance.choice(TOPICS), chance.randrange(QUEUES))
        count = chance.choice((1, 1, 1, 5))
        bodies = [
            b"%s-%d-%d|" % (self._name.encode(), self._opaque, item)
            + b"x" * chance.choice((0, 100, 1000))
            for item in range(count)
        ]
        header = send_header_v2(
            place[0],
            producer_group="Senders",
            default_topic_queue_nums=QUEUES,
            queue_id=place[1],
            batch=count > 1,
        )
        code = RequestCode.SEND_MESSAGE_V2
        body = bodies[0]
        if count > 1:
            code = RequestCode.SEND_BATCH_MESSAGE
            body = join_batch([BatchItem(0, one, b"") for one in bodies])
        self._waiting[self._opaque] = place, bodies
        self.sent.setdefault(place, []).extend(bodies)
        return encode(code, self._opaque, header, body)

    def _receive(self) -> bool:
        data = self._socket.recv(1 << 18)
        if not data:
            return False
        self._frames.feed(data)
        while (frame := self._frames.next_frame()) is not None:
            answer = decode_command(frame)
            if answer.code != ResponseCode.SUCCESS:
                self.failed = f"{answer.code}: {answer.remark}"
                self._enough.release(MOST)
                return False
            place, bodies = self._waiting.pop(answer.opaque)
            first = int((answer.ext_fields or {})["queueOffset"])
            for at, body in enumerate(bodies):
                self.stored.append((place, first + at, body))
            self._enough.release(len(bodies))
        return True


class Committer(threading.Thread):
    """A consumer that gets on by one with each commit; knows when which was answered."""

    def __init__(self, addr: str, start: int) -> None:
        super().__init__()
        self._client = BlockingClient(addr, timeout=30)
        self.start_at = start
        self.commits: list[tuple[float, int]] = []
        self.failed = ""

    def run(self) -> None:
        offset = self.start_at
        try:
            while True:
                offset += 1
                header = UpdateConsumerOffsetRequestHeader(
                    consumer_group="Readers", topic=TOPICS[0], queue_id=0, commit_offset=offset
                )
                answer = self._client.request(RequestCode.UPDATE_CONSUMER_OFFSET, header)
                if answer.code != ResponseCode.SUCCESS:
                    self.failed = f"{answer.code}: {answer.remark}"
                    return
                self.commits.append((time.monotonic(), offset))
        except (PeerGone, RemotingError):
            self._client.close()


class Campaign:
    """Kills over one store after another, and what they must not have lost."""

    def __init__(self, folder: Path, seed: int, flush: str, long_every: int = 0) -> None:
        """`long_every`: one round of this many lasts until commits have to be on the disk."""
        self._long_every = long_every
        self._folder = folder
        self._chance = random.Random(seed)
        self._flush = flush
        self.counts: Counter[str] = Counter()
        self._begin()

    def _begin(self) -> None:
        """A new store."""
        self._store = self._folder / f"store-{self.counts['stores']}"
        self.counts["stores"] += 1
        self._stored: list[tuple[Place, int, bytes]] = []
        self._sent: dict[Place, list[list[bytes]]] = {}
        self._committed = 0
        self._newest_commit = 0

    def run(self, rounds: int) -> None:
        for number in range(rounds):
            if number and number % PER_STORE == 0:
                self._check_and_kill()
                self._begin()
            self._round()
        self._check_and_kill()

    def _start(self) -> Server:
        settings = {**SETTINGS, "flushDiskType": self._flush}
        return Server(self._store, self._folder / "server.log", settings)

    def _check_and_kill(self) -> None:
        server = self._start()
        server.wait_ready()
        self._check(server)
        server.kill()

    def _round(self) -> None:
        for _ in range(self._chance.choice((0, 0, 1, 2))):
            server = self._start()
            # Somewhere between its first line and being ready: mostly while it recovers.
            with pytest.raises(subprocess.TimeoutExpired):
                server.process.wait(self._chance.uniform(0.1, 1.2))
            server.kill()
            self.counts["kills while starting"] += 1
        server = self._start()
        server.wait_ready()
        self._check(server)
        self._load(server)

    def _load(self, server: Server) -> None:
        enough = threading.Semaphore(0)
        seed = self._chance.randrange(1 << 30)
        senders = [Sender(server.broker_addr, at, seed, enough) for at in range(SENDERS)]
        committer = Committer(server.broker_addr, self._newest_commit)
        for sender in senders:
            sender.start()
        # The topics are there now, and a pull makes the group.
        enough.acquire()
        with BlockingClient(server.broker_addr, timeout=60) as client:
            pull(client, (TOPICS[0], 0), 0)
        committer.start()
        for _ in range(self._chance.choice((1, 50, 500, MOST))):
            enough.acquire()
        if self._long_every and self.counts["kills under load"] % self._long_every == 0:
            until = time.monotonic() + OFFSET_MILLIS / 1000 + OFFSET_GRACE + 1
            while time.monotonic() < until:
                enough.acquire()
        killed = time.monotonic()
        server.kill()
        for thread in (*senders, committer):
            thread.join()
            assert not thread.failed, thread.failed
        self.counts["kills under load"] += 1
        for sender in senders:
            self._stored += sender.stored
            for place, bodies in sender.sent.items():
                self._sent.setdefault(place, []).append(bodies)
        old = [
            offset
            for at, offset in committer.commits
            if at < killed - OFFSET_MILLIS / 1000 - OFFSET_GRACE
        ]
        self._committed = max([self._committed, *old])
        self.counts["commits that had to be there"] += len(old)
        self._newest_commit = max([self._newest_commit, *(it for _, it in committer.commits)])

    def _check(self, server: Server) -> None:
        with BlockingClient(server.broker_addr, timeout=60) as client:
            found = {
                (topic, queue_id): [record.body for record in pull_all(client, (topic, queue_id))]
                for topic in TOPICS
                for queue_id in range(QUEUES)
            }
            for place, offset, body in self._stored:
                assert found[place][offset] == body
            self.counts["answered messages looked for"] += len(self._stored)
            for place, bodies in found.items():
                self._check_order(bodies, self._sent.get(place, []))
            self._check_offset(client)

    def _check_order(self, bodies: list[bytes], sent: list[list[bytes]]) -> None:
        """Nothing twice, nothing of others, and each sender's messages as it sent them."""
        at = {body: index for index, body in enumerate(bodies)}
        assert len(at) == len(bodies)
        for row in sent:
            places = [at.pop(body) for body in row if body in at]
            assert places == sorted(places)
        assert not at
        self.counts["messages served"] += len(bodies)

    def _check_offset(self, client: BlockingClient) -> None:
        header = QueryConsumerOffsetRequestHeader(
            consumer_group="Readers", topic=TOPICS[0], queue_id=0
        )
        answer = client.request(RequestCode.QUERY_CONSUMER_OFFSET, header)
        offset = int((answer.ext_fields or {}).get("offset", 0))
        assert self._committed <= offset <= self._newest_commit
        # What is known to be on the disk now cannot be lost later.
        self._committed = offset
        self._newest_commit = max(self._newest_commit, offset)


@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
def test_kill_9_under_load(tmp_path: Path, times: int, flush: str) -> None:
    seed = random.randrange(1 << 30) if times > 1 else 1
    campaign = Campaign(tmp_path, seed, flush, long_every=10 if times > 1 else 0)
    try:
        campaign.run(ROUNDS * times)
    except BaseException as error:
        log = (tmp_path / "server.log").read_text()
        error.add_note(f"seed {seed}; the server said:\n{log[-3000:]}")
        raise
    print(f"kill -9, {flush}, seed {seed}:", dict(campaign.counts))
