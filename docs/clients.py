"""Which clients were tried with TriMQ, and how: docs/compatibility.md shows it.

`tests` are files or folders of tests that run them or send what they send; a unit test ensures that
they exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Client:
    """A client, its versions, and what was done with it."""

    name: str
    versions: str
    tried: str
    tests: tuple[str, ...] = ()


CLIENTS: Final = (
    Client(
        "Java, `rocketmq-client`",
        "5.5.0, 4.9.8",
        "run: every scenario, on RocketMQ and on TriMQ",
        ("compat_tests/scenarios/test_java.py", "compat_tests/images/test_replaced.py"),
    ),
    Client(
        "`mqadmin` of the distribution",
        "5.5.0",
        "run: its commands on TriMQ",
        ("compat_tests/mqadmin/test_mqadmin.py",),
    ),
    Client(
        "Go, `rocketmq-client-go/v2`",
        "2.1.2",
        "run: every scenario, on RocketMQ and on TriMQ",
        ("compat_tests/scenarios/test_go.py", "compat_tests/images/test_clients.py"),
    ),
    Client(
        "C++, `rocketmq-client-cpp`",
        "1.2, as the Python package `rocketmq` 0.4.4 has it inside",
        "run: sends, and consumes by tags",
        ("compat_tests/scenarios/test_cpp_client.py",),
    ),
    Client(
        "C++, `rocketmq-client-cpp`",
        "1.2.0 to 2.2.0, ten releases",
        "their heartbeats and locks, which have the same form in all of them, sent to RocketMQ and to TriMQ",
        ("compat_tests/wire/cases/languages.py",),
    ),
    Client(
        "Python `rocketmq-client-python` 2.0.0; Node.js `apache-rocketmq` 1.0.0-rc1; Go v1 and PHP with"
        " the C++ library",
        "",
        "not run: their packages lack the C++ library that they use, which is the client of the line above",
        ("compat_tests/wire/cases/languages.py",),
    ),
    Client(
        "gRPC clients (`rocketmq-client-java` 5.x, `rocketmq-clients/golang` 5.x, `rocketmq-client-nodejs`,"
        " `rocketmq-python-client`, the Rust crate `rocketmq`)",
        "",
        "through TriMQ's proxy ([clients5.md](clients5.md)) or RocketMQ's ([proxy.md](proxy.md)); run: Java 5.1.0 and"
        " Go v5.1.2; a message there and back through TriMQ's: Python 5.1.2, Node.js 1.0.8, Rust 5.0.0",
        (
            "compat_tests/proxy/test_languages.py",
            "compat_tests/scenarios/test_grpc.py",
            "compat_tests/scenarios/test_grpc_go.py",
            "compat_tests/images/test_clients.py",
        ),
    ),
)
