"""What a server is filled with before mqadmin is tried on it: topics, messages, groups, clients, a trace."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from compat_tests.mqadmin.case import BROKER
from compat_tests.mqadmin.tools import OfficialTool
from compat_tests.servers.server import Options, Server
from tests.patience import until
from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.errors import AdminError
from trimq.admin.messages.finding import MessageQuery
from trimq.codec.names import TRACE_TOPIC
from trimq.mqadmin.common.traces import traces_of
from trimq.remoting.errors import TransportError

SENT: Final = "AdminSent"
# A topic whose messages leave traces, and who consumes it.
TRACED: Final = "AdminTraced"
TRACER: Final = "AdminTracer"
TRACE_MAKER: Final = "AdminTraceMaker"
# Clients do not make the topic of their traces.
SETTINGS: Final = Options(settings={"traceTopicEnable": "true"})
MEMBER: Final = "AdminMember"
MAKER: Final = "AdminMaker"
# A group that cases move, with its topic; and one whose two members want different tags.
MOVER, MOVED = "AdminMover", "AdminMoved"
SPLIT: Final = "AdminSplit"
# (body, key, tag, queue) of each message that the stage sends.
MESSAGES: Final = (
    ("body-0", "key-0", "TagA", 0),
    ("body-1", "key-1", "TagB", 1),
    ("body-2", "key-2", "TagA", 2),
    ("body-3", "key-1", "TagA", 1),
)
# For the stage's own questions: what is compared is what the tools print.
ANSWER_SECONDS: Final = 30.0
# What a command line may name, all that `fill` says of a server.
NAMES: Final = {
    "sent": SENT,
    "member": MEMBER,
    "maker": MAKER,
    "mover": MOVER,
    "moved": MOVED,
    "split": SPLIT,
}


def fill(server: Server, official: OfficialTool) -> dict[str, str]:
    """Topics, messages, clients: by the official tool and client only."""
    ns = server.namesrv_addr
    # A held pull learns of a reset when it ends: after 15 seconds otherwise.
    setting = ["-b", server.broker_addr, "-k", "longPollingEnable", "-v", "false"]
    official.run(ns, ["updateBrokerConfig", *setting])
    for topic in (SENT, MOVED, SPLIT):
        _create(official, server, topic, 4)
    for queue in range(4):
        where = ["-b", BROKER, "-i", str(queue)]
        _send(official, ns, "-t", MOVED, "-p", f"moved-{queue}", *where)
    for body, key, tag, queue in MESSAGES:
        where = ["-b", BROKER, "-i", str(queue)]
        _send(official, ns, "-t", SENT, "-p", body, "-k", key, "-c", tag, *where)
    official.ask("consumer", ns, MEMBER, SENT, "TagA || TagB")
    official.ask("producer", ns, MAKER, SENT)
    official.ask("consumer", ns, MOVER, MOVED, "*")
    for tag in ("TagA", "TagB"):
        # Members that are new may differ: the tools wait two minutes.
        official.ask("consumer", ns, SPLIT, SPLIT, tag, "300")
    _create(official, server, TRACED, 1)
    official.ask("consumer", ns, TRACER, TRACED, "*", "traced")
    with admin_of(server) as admin:
        wait_until_consumed(admin, MEMBER, SENT)
        wait_until_consumed(admin, MOVER, MOVED)
        pulled = admin.pull(admin.place_of(SENT, BROKER, 2), 0)
        assert pulled.messages, f"{server}: {pulled.status}"
        message = pulled.messages[0]
        (client,) = admin.consumer_connection(MEMBER).connection_set
        traced = _traced(official, ns, admin)
        wait_until_consumed(admin, TRACER, TRACED, queues=1)
        for group in (MEMBER, MOVER, SPLIT, TRACER):
            wait_until_retries_are_read(admin, group)
    return {
        **NAMES,
        "b": server.broker_addr,
        "client": client.client_id or "",
        "offset_id": message.offset_id,
        "unique_id": message.message_id,
        "traced": traced,
    }


def _traced(official: OfficialTool, ns: str, admin: BlockingAdminClient) -> str:
    """The id of a message whose sending and consumption have been traced by the official client."""
    message_id = official.ask("trace", ns, TRACE_MAKER, TRACED, "traced").out.strip()
    query = MessageQuery(topic=TRACE_TOPIC, key=message_id)

    def kinds() -> set[str]:
        with suppress(AdminError, TransportError):
            found = admin.query_messages(query)
            return {one.kind for message in found for one in traces_of(message, message_id)}
        return set()

    until(lambda: len(kinds()) == 2, "both traces are stored")
    return message_id


def admin_of(server: Server) -> BlockingAdminClient:
    return BlockingAdminClient(server.namesrv_addr, timeout=ANSWER_SECONDS)


def _create(official: OfficialTool, server: Server, topic: str, queues: int) -> None:
    words = ["updateTopic", "-b", server.broker_addr, "-t", topic]
    words += ["-r", str(queues), "-w", str(queues)]

    def is_created() -> bool:
        return "success" in official.run(server.namesrv_addr, words).out

    # The tool gives a busy broker 5 s.
    until(is_created, f"{topic} is there")


def _send(official: OfficialTool, ns: str, *words: str) -> None:
    """By the official tool, which sends nothing while the NameServer does not know of a new topic yet."""

    def sent() -> bool:
        printed = official.run(ns, ["sendMessage", *words])
        assert "SEND_OK" in printed.out or f"The broker[{BROKER}] not exist" in printed.err, printed
        return "SEND_OK" in printed.out

    until(sent, "the topic has a route")


def wait_until_consumed(
    admin: BlockingAdminClient, group: str, topic: str, queues: int = 4
) -> None:
    """Until the group has committed the end of all queues."""

    def is_consumed() -> bool:
        with suppress(AdminError, TransportError):
            stats = admin.consume_stats(group, topic)
            return len(stats.offsets) == queues and not stats.behind
        return False

    until(is_consumed, f"{group} has consumed everything")


def wait_until_retries_are_read(admin: BlockingAdminClient, group: str) -> None:
    """Until the group has an offset in its retry topic."""

    def are_read() -> bool:
        with suppress(AdminError, TransportError):
            return any(
                queue.topic == f"%RETRY%{group}" for queue in admin.consume_stats(group).offsets
            )
        return False

    until(are_read, f"{group} reads its retries")
