"""Whether clients can reach the addresses that they will be told. Asked once, before the start.

TriMQ listens on this machine only unless configured otherwise, while a `broker.conf` written for
RocketMQ, which listens everywhere, often names an address for others: such a broker would be
registered, "ready", and out of reach.
"""

import dataclasses
import logging
from collections.abc import Iterator
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from trimq.broker.cluster.registration import name_server_list
from trimq.settings.endpoints import Endpoint, addresses_of, is_of_this_machine
from trimq.settings.parsing import SettingsError

if TYPE_CHECKING:
    from trimq.settings.options import ServerPlan

log = logging.getLogger("trimq.server")

_WILDCARDS: Final = {"0.0.0.0": (4,), "": (4,), "::": (4, 6)}


def reachable(plan: "ServerPlan", chosen: bool) -> "ServerPlan":
    """The plan with what else it has to listen on. `chosen`: whether the listening address was given, by --listen or
    bindAddress.

    Another loopback address that clients are told is listened on as well, unless `chosen`: nobody else comes in by
    that. Raises SettingsError when others would be sent to this machine's loopback, or to an address on
    which nothing listens, only because nobody said where to listen.
    """
    more_hosts: dict[str, None] = {}
    for told, by in _told(plan):
        unserved = _unserved(told, plan.listen)
        if not unserved:
            continue
        if chosen and len(unserved) < len(addresses_of(told)):
            # A client that cannot connect to one address of a name tries the next.
            continue
        if chosen:
            _warn(told, by, plan.listen)
        elif all(map(_is_loopback, unserved)):
            more_hosts |= dict.fromkeys(unserved)
        else:
            _refuse(told, by, plan.listen)
    if not chosen:
        _check_name_servers(plan)
    return dataclasses.replace(plan, more_hosts=tuple(more_hosts))


def _told(plan: "ServerPlan") -> Iterator[tuple[str, str]]:
    """The hosts that clients and slaves are told, and where those were configured."""
    if plan.advertise is not None:
        # Another port is one from which something forwards.
        if plan.advertise.port in (0, plan.listen.port) or not _is_loopback(plan.advertise.host):
            yield plan.advertise.host, "--advertise"
    elif plan.broker.broker_ip1 and plan.advertise_file is None:
        yield plan.broker.broker_ip1, "brokerIP1"
    if plan.broker.broker_ip2 and plan.serves_slaves:
        yield plan.broker.broker_ip2, "brokerIP2"


def _unserved(told: str, listening: Endpoint) -> list[str]:
    """The addresses of a host on which nothing would listen, as far as they are for this machine to serve.

    An address of another machine, or none at all, is translated on the way: a wildcard serves it, and so does an
    address for other machines.
    """
    if told == listening.host or told in _WILDCARDS:
        return []
    addresses = addresses_of(told) or [told]
    ours = set(addresses_of(listening.host)) if listening.host else set()
    is_open = listening.host in _WILDCARDS or not all(map(_is_loopback, ours))
    unserved = [one for one in addresses if one not in ours and not _is_open_to(one, listening)]
    missing = [one for one in unserved if not is_open or is_of_this_machine(one)]
    if len(addresses) > 1:
        # Of a name with several addresses this machine need not have each.
        missing = [one for one in missing if not _is_loopback(one) or is_of_this_machine(one)]
    return missing


def _is_open_to(address: str, listening: Endpoint) -> bool:
    """Whether the listening address is a wildcard that means this one too."""
    families = _WILDCARDS.get(listening.host, ())
    return (6 if ":" in address else 4) in families


def _refuse(told: str, by: str, listening: Endpoint) -> None:
    raise SettingsError(
        f"clients would be sent to {told} ({by}), where nothing would listen: unless told"
        " otherwise, TriMQ listens on this machine's loopback only. Add --listen"
        f" {_everywhere(told, listening)}, or bindAddress={_wildcard(told)} in the file, if other machines may connect"
        " (there is no access control yet)"
    )


def _wildcard(told: str) -> str:
    return "::" if all(":" in one for one in addresses_of(told) or [told]) else "0.0.0.0"


def _everywhere(told: str, listening: Endpoint) -> Endpoint:
    return Endpoint(_wildcard(told), listening.port)


def _warn(told: str, by: str, listening: Endpoint) -> None:
    log.warning(
        "clients are sent to an address on which this broker does not listen; something has to"
        " forward it, or nobody will get through: told=%s by=%s listening=%s",
        told,
        by,
        listening,
    )


def _check_name_servers(plan: "ServerPlan") -> None:
    """Unless it was told where to listen, a broker that clients find on the loopback is for NameServers here."""
    if plan.advertise_file is not None:
        # Whoever writes it knows by which address clients come.
        return
    told = plan.listen.host
    if plan.advertise is not None:
        told = plan.advertise.host
    elif plan.broker.broker_ip1:
        told = plan.broker.broker_ip1
    if not _is_loopback(told):
        return
    for server in name_server_list(plan.broker.namesrv_addr or ""):
        if not _is_loopback(Endpoint.parse(server).host):
            raise SettingsError(
                f"the NameServer {server} would send clients of every machine to {plan.listen}:"
                " unless told otherwise, TriMQ listens on this machine's loopback only. Add"
                f" --listen 0.0.0.0:{plan.listen.port} --advertise ADDRESS:{plan.listen.port}, with an"
                f" address that they can reach, or --listen {plan.listen} if all clients are here"
            )


def _is_loopback(host: str) -> bool:
    """Whether it is this machine's loopback. A name that does not resolve is somewhere else."""
    addresses = addresses_of(host)
    return bool(addresses) and all(ip_address(one).is_loopback for one in addresses)
