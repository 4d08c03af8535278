"""Whether clients can reach the address that they will be told. Asked once, before the start.

TriMQ listens on this machine only unless configured otherwise, while a `broker.conf` written for
RocketMQ, which listens everywhere, often names an address for others: such a broker would be
registered, "ready", and out of reach.
"""

import logging
import socket
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from trimq.broker.cluster.registration import name_server_list
from trimq.settings.endpoints import Endpoint
from trimq.settings.parsing import SettingsError

if TYPE_CHECKING:
    from trimq.settings.options import ServerPlan

log = logging.getLogger("trimq.server")

_WILDCARDS: Final = ("0.0.0.0", "::", "")


def check_reachable(plan: "ServerPlan", chosen: bool) -> None:
    """Refuse or warn. `chosen`: whether the listening address was given, by --listen or bindAddress.

    Raises SettingsError when others would be sent to this machine's loopback, or to an address on
    which nothing listens, only because nobody said where to listen.
    """
    told, by = _told(plan)
    listening = plan.listen
    if listening.host in _WILDCARDS or told == listening.host:
        # It listens there, unless an address is translated on the way.
        told_elsewhere = False
    else:
        told_elsewhere = _is_loopback(listening.host) != _is_loopback(told)
    if told_elsewhere:
        _nobody_there(Endpoint(told, listening.port), by, listening, chosen)
    elif not chosen and _is_loopback(told):
        for server in name_server_list(plan.broker.namesrv_addr or ""):
            if not _is_loopback(Endpoint.parse(server).host):
                raise SettingsError(
                    f"the NameServer {server} would send clients of every machine to {listening}:"
                    " unless told otherwise, TriMQ listens on this machine's loopback only. Add"
                    f" --listen 0.0.0.0:{listening.port} --advertise ADDRESS:{listening.port}, with an"
                    f" address that they can reach, or --listen {listening} if all clients are here"
                )


def _told(plan: "ServerPlan") -> tuple[str, str]:
    """The host that clients are told, and where that was configured."""
    if plan.advertise is not None:
        return plan.advertise.host, "--advertise"
    if plan.broker.broker_ip1:
        return plan.broker.broker_ip1, "brokerIP1"
    return plan.listen.host, "--listen"


def _nobody_there(told: Endpoint, by: str, listening: Endpoint, chosen: bool) -> None:
    if not chosen:
        raise SettingsError(
            f"clients would be sent to {told.host} ({by}), where nothing would listen: unless told"
            " otherwise, TriMQ listens on this machine's loopback only. Add --listen"
            f" 0.0.0.0:{told.port}, or bindAddress=0.0.0.0 in the file, if other machines may connect"
            " (there is no access control yet)"
        )
    log.warning(
        "clients are sent to an address on which this broker does not listen; something has to"
        " forward it, or nobody will get through: told=%s by=%s listening=%s",
        told.host,
        by,
        listening,
    )


def _is_loopback(host: str) -> bool:
    """Whether it is this machine's loopback. A name that does not resolve is somewhere else."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        pass
    try:
        found = socket.getaddrinfo(host, None, 0, socket.SOCK_STREAM)
    except OSError:
        return False
    return all(ip_address(str(address[0]).partition("%")[0]).is_loopback for *_, address in found)
