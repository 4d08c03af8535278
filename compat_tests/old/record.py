"""Records which requests old servers answer, and how: ``python -m compat_tests.old.record``.

Each version's NameServer and broker is asked every code of RequestCode, over a connection of its own, with fields
that any header may want. What is there after some seconds goes to `tests/vectors/old_servers.json`, from which
`tests/net/old_peers.py` plays: by version and server the number that it puts into the head of answers, the code
of its answer by request code, and the request codes that it did not answer.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from compat_tests.old.servers import OldBroker, old_name_server
from compat_tests.servers.artifacts import OLD_VERSIONS, ROOT
from trimq.codec.codes import OwnRequestCode, RequestCode
from trimq.codec.frames.command import RemotingCommand
from trimq.remoting.clients.blocking import BlockingClient
from trimq.remoting.errors import TransportError

RECORD: Final = ROOT / "tests" / "vectors" / "old_servers.json"
# A silence is one that lasts so long.
SECONDS: Final = 6.0
# No servers of RocketMQ have these; who asks them must expect silence.
UNKNOWN: Final = (*OwnRequestCode, 987654)
# Something for every header that has a field of this name.
FIELDS: Final = {
    **dict.fromkeys(("topic", "b", "originTopic", "defaultTopic", "c"), "RecordedTopic"),
    **dict.fromkeys(("group", "consumerGroup", "producerGroup", "groupName", "a"), "RecordedGroup"),
    **dict.fromkeys(("queueId", "e", "queueOffset", "offset", "commitOffset", "sysFlag", "f"), "0"),
    **dict.fromkeys(("timestamp", "bornTimestamp", "g", "flag", "h", "beginTimestamp"), "0"),
    **dict.fromkeys(("endTimestamp", "suspendTimeoutMillis", "subVersion", "brokerId"), "0"),
    **dict.fromkeys(("defaultTopicQueueNums", "d", "readQueueNums", "writeQueueNums"), "4"),
    **dict.fromkeys(("maxMsgNums", "maxNum", "count", "topicSysFlag"), "1"),
    **dict.fromkeys(("isForce", "order", "isOrder", "clusterName", "namespace"), "false"),
    **dict.fromkeys(("brokerName", "brokerAddr", "clientID", "key", "value", "lang"), "recorded"),
    **dict.fromkeys(("statsName", "statsKey", "srcGroup", "destGroup", "index"), "1"),
    "perm": "6",
    "topicFilterType": "SINGLE_TAG",
    "properties": "",
    "i": "",
    "subscription": "*",
    "haServerAddr": "127.0.0.1:1",
}


def asked(addr: str, codes: Sequence[int]) -> dict[int, RemotingCommand | None]:
    """The answers of one server; None where there is none. All codes are asked at once."""
    with ExitStack() as stack:
        waiting: dict[int, tuple[BlockingClient, int]] = {}
        for code in codes:
            client = stack.enter_context(BlockingClient(addr))
            waiting[code] = client, client.start(code, dict(FIELDS))
        deadline = time.monotonic() + SECONDS
        return {code: _answer(*one, deadline) for code, one in waiting.items()}


def _answer(client: BlockingClient, opaque: int, deadline: float) -> RemotingCommand | None:
    try:
        return client.finish(opaque, max(0.05, deadline - time.monotonic()))
    except TransportError:
        return None


def recorded(addr: str) -> dict[str, Any]:
    """What the record holds of one server."""
    answers = asked(addr, [*RequestCode, *UNKNOWN])
    versions = {answer.version for answer in answers.values() if answer is not None}
    (version,) = versions
    return {
        "version": version,
        "answers": {str(int(code)): one.code for code, one in answers.items() if one is not None},
        "silent": [int(code) for code, one in answers.items() if one is None],
    }


def record(version: str, home: Path) -> dict[str, Any]:
    """Both servers of one version."""
    with ExitStack() as stack:
        namesrv = old_name_server(version, home)
        stack.callback(namesrv.kill)
        namesrv.start()
        broker = OldBroker(version, home, namesrv.addr)
        stack.callback(broker.kill)
        broker.start()
        return {"broker": recorded(broker.addr), "namesrv": recorded(namesrv.addr)}


def main() -> None:
    made = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for version in sys.argv[1:] or OLD_VERSIONS:
        with tempfile.TemporaryDirectory() as folder:
            made[version] = record(version, Path(folder))
    RECORD.write_text(_text(made))


def _text(made: dict[str, Any]) -> str:
    """One line for each server's answers and one for its silences."""
    lines = []
    for version, servers in sorted(made.items()):
        inner = ",\n".join(
            f'  "{kind}": {{\n    "version": {one["version"]},\n    "answers": {json.dumps(one["answers"])},\n'
            f'    "silent": {json.dumps(one["silent"])}\n  }}'
            for kind, one in sorted(servers.items())
        )
        lines.append(f'"{version}": {{\n{inner}\n}}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    main()
