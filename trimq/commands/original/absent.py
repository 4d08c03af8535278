"""Commands of RocketMQ's for which there is nothing to run, and what to do instead."""

from typing import Final

SENTENCES: Final = {
    "mqcontroller": (
        "TriMQ has no controller: which broker is the master is set by brokerRole, see docs/replication.md"
    ),
    "mqbrokercontainer": (
        "TriMQ has no broker container: 'trimq server --brokers N' runs several brokers, see docs/replication.md"
    ),
}


def example(java_class: str) -> str:
    """About a program that RocketMQ's `tools.sh` would run."""
    return (
        f"{java_class or 'tools.sh'}: there is no JVM here, and none of RocketMQ's Java programs;"
        " 'mqadmin sendMessage' and 'mqadmin tail' send and receive, see docs/mqadmin.md"
    )
