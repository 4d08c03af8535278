"""In which order a NameServer lists brokers, clusters and topics: asked of one, kept as a golden file.

``python -m compat_tests.cluster.broker_orders FILE`` starts the real NameServer and writes what it answers.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from compat_tests.cluster.namesrv_asks import Ask, Connection
from compat_tests.servers.containers import launcher
from compat_tests.servers.real import RealNameServer

REGISTER, UNREGISTER, ROUTE, CLUSTERS, ALL_TOPICS, OF_CLUSTER, SYSTEM = (
    103,
    104,
    105,
    106,
    206,
    224,
    304,
)

LETTERS: Final = [f"mq-{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
NUMBERS: Final = [f"broker-{number}" for number in range(30)]
HOSTS: Final = [f"mq{number:02d}.rack{number % 3}.dc" for number in range(16)]
NAMES: Final = ["eins", "zwei", "drei", "vier", "fünf", "six 六", "Broker", "𝄞", "DEFAULT", "a_b"]


def sets() -> Iterator[list[str]]:
    """Names as they register, in several orders; small sets and such as make Java's tables grow."""
    source = random.Random(9)
    for names in (LETTERS[:3], LETTERS[:12], LETTERS[:13], NUMBERS[:12], NUMBERS, HOSTS, NAMES):
        yield names
        yield names[::-1]
        yield source.sample(names, len(names))


def ask(connection: Connection, code: int, body: bytes = b"", **ext: str) -> Any:
    answer = connection.ask_raw(Ask(code, ext, body))
    assert answer.code == 0, answer.remark
    # Broker ids are bare keys.
    text = re.sub(r'([{,])(\d+):"', r'\1"\2":"', answer.body.decode())
    return json.loads(text) if text else None


def header(cluster: str, name: str, at: int) -> dict[str, str]:
    return {
        "brokerName": name,
        "brokerAddr": f"10.1.1.1:{at}",
        "clusterName": cluster,
        "brokerId": "0",
        "haServerAddr": "",
    }


def register(connection: Connection, cluster: str, name: str, topics: list[str], at: int) -> None:
    table = {topic: {"topicName": topic} for topic in topics}
    version = {"counter": at, "stateVersion": 0, "timestamp": at}
    wrapper = {"topicConfigTable": table, "dataVersion": version}
    body = json.dumps({"topicConfigSerializeWrapper": wrapper}).encode()
    ask(connection, REGISTER, body, **header(cluster, name, at))


def orders(addr: str) -> dict[str, Any]:
    """Whatever a NameServer at that address lists, after many brokers have registered with it; they leave again."""
    connection = Connection(addr)
    at = 0
    routes = []
    last: dict[str, tuple[str, int]] = {}
    for number, names in enumerate(sets()):
        for name in names:
            at += 1
            topics = [f"set-{number}", f"topic-{number}-{len(name)}"]
            last[name] = (f"cluster-{len(name) % 5}", at)
            register(connection, last[name][0], name, topics, at)
        route = ask(connection, ROUTE, topic=f"set-{number}")
        routes.append(
            {
                "registered": names,
                "brokerDatas": [one["brokerName"] for one in route["brokerDatas"]],
                "queueDatas": [one["brokerName"] for one in route["queueDatas"]],
            }
        )
    info = ask(connection, CLUSTERS)
    system = ask(connection, SYSTEM)
    found = {
        "routes": routes,
        "brokerAddrTable": list(info["brokerAddrTable"]),
        "clusterAddrTable": info["clusterAddrTable"],
        "allTopics": ask(connection, ALL_TOPICS)["topicList"],
        "topicsOfCluster": ask(connection, OF_CLUSTER, cluster="cluster-3")["topicList"],
        "systemTopics": system["topicList"],
        "systemBroker": system["brokerAddr"],
    }
    for name, (cluster, number) in last.items():
        ask(connection, UNREGISTER, **header(cluster, name, number))
    connection.close()
    return found


def main(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = RealNameServer(launcher(), Path(folder) / "namesrv")
        server.start()
        try:
            found = orders(server.addr)
        finally:
            server.kill()
    path.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
