"""What is said of a server's health. Apart from the command: a container's health check, which is run often, has no
other use for what reads a command line.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trimq.admin.brokers.health import ServerHealth


def line(one: "ServerHealth") -> str:
    """`broker 127.0.0.1:10911 (broker-a, id 0): healthy`"""
    who = f"{one.kind} {one.addr}"
    if one.name:
        told = f", clients are told {one.told}" if one.told else ""
        who += f" ({one.name}, id {one.broker_id}{told})"
    said = {True: "healthy", False: "not healthy: ", None: "not known: "}[one.ok]
    return f"{who}: {said}" + "; ".join(one.why + one.unknown)
