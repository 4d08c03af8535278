"""Whether the servers of this container are well: for the image's HEALTHCHECK.

Only what runs here counts. A NameServer that answers is healthy, whatever its brokers do. A broker is healthy when
`trimq health` says so of it; of the NameServers it is asked only whether they know it. A proxy is healthy when it takes
connections: it has to serve clients whatever its brokers do.
"""

import os
import socket
import ssl
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from trimq.admin.brokers.health import ServerHealth, name_servers_health, servers_health
from trimq.admin.connecting.addresses import name_server_list
from trimq.admin.connecting.blocking_link import BlockingLink, result_of
from trimq.commands.health_lines import line
from trimq.commands.original.ports import BROKER_PORT, GRPC_PORT, NAMESRV_PORT
from trimq.commands.original.processes import Running, running_servers, seconds_since_start

# For an answer. Some are waited for one after the other, and Docker gives a check ten seconds.
_SECONDS: Final = 2.0
# So long a check waits for servers that have been started a moment ago, instead of saying that they are not well: the
# next one comes seconds later, and loading all of this costs a tenth of a core as much as a second.
_PATIENCE: Final = 5.0
_YOUNG_SECONDS: Final = 30.0
_PAUSE: Final = 0.1


def container_health(
    servers: Iterable[Running], environment: Mapping[str, str]
) -> list[ServerHealth]:
    """One for each server; none when nothing runs."""
    found = []
    for one in servers:
        if one.kind == "namesrv":
            found += _name_server(one.option("--listen"))
            continue
        if one.kind == "proxy":
            found += _proxy(one.option("--listen"))
            continue
        embedded = one.option("--namesrv-listen")
        if embedded is not None:
            found += _name_server(embedded)
        named = one.option("--namesrv") or (
            _here(embedded, NAMESRV_PORT) if embedded else environment.get("NAMESRV_ADDR")
        )
        found += _broker(one.option("--listen"), named)
    return found


def _here(listen: str | None, default: int) -> str:
    """How to reach what listens there."""
    host, _, port = (listen or "").rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if host in ("", "0.0.0.0", "::"):
        host = "127.0.0.1"
    shown = f"[{host}]" if ":" in host else host
    return f"{shown}:{port or default}"


def _name_server(listen: str | None) -> list[ServerHealth]:
    addr = _here(listen, NAMESRV_PORT)

    def ask(link: BlockingLink) -> list[ServerHealth]:
        found, _ = result_of(name_servers_health(link, need_brokers=False))
        return found

    return _asked((addr,), ask, addr)


def _broker(listen: str | None, named: str | None) -> list[ServerHealth]:
    addr = _here(listen, BROKER_PORT)

    def ask(link: BlockingLink) -> list[ServerHealth]:
        return result_of(servers_health(link, addr, with_others=False))

    return _asked(name_server_list(named) if named else (), ask, addr)


def _proxy(listen: str | None) -> list[ServerHealth]:
    addr = _here(listen, GRPC_PORT)
    host, _, port = addr.rpartition(":")
    why = []
    try:
        socket.create_connection((host.strip("[]"), int(port)), _SECONDS).close()
    except OSError as error:
        why.append(f"takes no connections: {error.strerror or error}")
    return [ServerHealth("proxy", addr, why=why)]


def _asked(
    named: Sequence[str], ask: Callable[[BlockingLink], list[ServerHealth]], own: str
) -> list[ServerHealth]:
    """What is found of the server at `own`: in plain text, and by TLS if that one wants nothing else."""
    found: list[ServerHealth] = []
    for by_tls in (False, True):
        link = BlockingLink(named, _SECONDS, _any_certificate() if by_tls else None, None)
        try:
            found = [one for one in ask(link) if one.addr == own]
        finally:
            link.close()
        if not any(one.why for one in found):
            break
    return found


def _any_certificate() -> ssl.SSLContext:
    """Nobody else answers on an own port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def check(patience: float = _PATIENCE) -> int:
    """Print what is found; 0 or 1, as Docker wants it."""
    until = time.monotonic() + patience
    while True:
        servers = list(running_servers())
        found = container_health(servers, os.environ)
        well = bool(found) and not any(one.why for one in found)
        if well or time.monotonic() >= until or not any(map(_is_young, servers)):
            break
        time.sleep(_PAUSE)
    print("\n".join(map(line, found)) or "no server of TriMQ's runs here")
    return 0 if well else 1


def _is_young(server: Running) -> bool:
    return seconds_since_start(server.pid) < _YOUNG_SECONDS


if __name__ == "__main__":
    sys.exit(check())
