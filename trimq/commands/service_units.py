"""The texts of trimq.service and trimq.socket, for systemd 247 and newer (docs/systemd.md says what is in them).

`deploy/systemd` has them as they are for an installation in /opt/trimq; `make docs` writes them there.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from trimq.process.service_manager import WATCHDOG_SIGNAL
from trimq.process.stop_signals import STOP_SECONDS
from trimq.settings.endpoints import Endpoint, address_of

STATE: Final = Path("/var/lib")
STORE: Final = STATE / "trimq"
SERVICE: Final = "trimq.service"
SOCKET: Final = "trimq.socket"
_BACKLOG: Final = 1024
# What needs no quotes in a unit.
_PLAIN: Final = re.compile(r"[\w@%+=:,./\[\]-]+", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """`command`: words of `trimq server`. `user`: empty for one that exists while the service runs.

    `writable`: folders beside the store. `sees_homes`: something that it needs lies in somebody's home.
    """

    command: Sequence[str]
    user: str = ""
    store: Path = STORE
    writable: Sequence[Path] = ()
    sees_homes: bool = False


def service_unit(service: Service) -> str:
    return _SERVICE.format(
        command=" ".join(map(word, service.command)),
        user=f"User={service.user}" if service.user else "DynamicUser=yes",
        folders="\n".join(_folders(service)),
        homes="read-only" if service.sees_homes else "yes",
        stop=int(STOP_SECONDS * 2),
        signal=WATCHDOG_SIGNAL.name,
    )


def socket_unit(endpoints: Sequence[Endpoint]) -> str:
    """`endpoints`: all that the server listens on."""
    lines = "\n".join(f"ListenStream={_bound(one)}" for one in endpoints)
    return _SOCKET.format(lines=lines, backlog=_BACKLOG)


def word(text: str) -> str:
    """One word of a line in a unit, whatever is in it."""
    text = text.replace("%", "%%").replace("$", "$$")
    if _PLAIN.fullmatch(text.replace("$", "")):
        return text
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'


def is_made_by_systemd(store: Path) -> bool:
    """Whether it is a state directory: made by systemd, and the user's whoever that is."""
    return store.is_relative_to(STATE) and store != STATE


def _folders(service: Service) -> Iterator[str]:
    writable = list(service.writable)
    if is_made_by_systemd(service.store):
        yield f"StateDirectory={path_word(service.store.relative_to(STATE))}"
        yield "StateDirectoryMode=0700"
    else:
        writable.insert(0, service.store)
    for path in writable:
        yield f"ReadWritePaths={path_word(path)}"


def path_word(path: Path) -> str:
    """As `word`; a dollar means nothing here."""
    return word(str(path)).replace("$$", "$")


def _bound(endpoint: Endpoint) -> Endpoint:
    host = address_of(endpoint.host) if endpoint.host else "0.0.0.0"
    return Endpoint(str(ip_address(host.partition("%")[0])), endpoint.port)


_SERVICE: Final = """\
# Made by `trimq install-service`. What you change belongs into `systemctl edit trimq.service`.
[Unit]
Description=TriMQ, a message broker and NameServer
Wants=network-online.target
After=network-online.target
# One that does not stay up is given up: `systemctl reset-failed trimq.service` allows new attempts.
StartLimitIntervalSec=120
StartLimitBurst=6

[Service]
Type=notify
NotifyAccess=main
ExecStart={command}
Restart=on-failure
RestartSec=1
# Settings that make no sense make none the next time.
RestartPreventExitStatus=2
# A start that recovers a large store asks for more.
TimeoutStartSec=90
TimeoutStopSec={stop}
# With --brokers the first process stops the others.
KillMode=mixed
# The event loop says every ten seconds that it turns. By this signal it shows first where it hangs.
WatchdogSec=30
WatchdogSignal={signal}
LimitNOFILE=65536
LimitCORE=0

{user}
{folders}
UMask=0077
AmbientCapabilities=
CapabilityBoundingSet=
DevicePolicy=closed
LockPersonality=yes
MemoryDenyWriteExecute=yes
NoNewPrivileges=yes
PrivateDevices=yes
PrivateMounts=yes
PrivateTmp=yes
PrivateUsers=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome={homes}
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
RemoveIPC=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources

[Install]
WantedBy=multi-user.target
"""

_SOCKET: Final = """\
# Made by `trimq install-service`. These are the addresses that the server listens on, all of them and no others.
[Unit]
Description=The ports of TriMQ, which stay open while trimq.service is restarted

[Socket]
{lines}
Backlog={backlog}
BindIPv6Only=both
# Addresses that this machine gets later in its start.
FreeBind=yes

[Install]
WantedBy=sockets.target
"""
