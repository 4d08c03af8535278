"""``trimq health``: whether NameServers and brokers are well, asked over the network."""

import json
import math
import os
from typing import TYPE_CHECKING, Any, Final

import click

from trimq.commands.health_lines import line
from trimq.commands.refusals import Misused

if TYPE_CHECKING:
    from trimq.admin.brokers.health import ServerHealth

# Where `trimq server` listens.
DEFAULT_NAMESRV: Final = "127.0.0.1:9876"
DEFAULT_BROKER: Final = "127.0.0.1:10911"
_NOT_KNOWN: Final = 2

EXAMPLES: Final = """
\b
Examples:
  trimq health
      what `trimq server` runs by default: 127.0.0.1:9876 and 127.0.0.1:10911
  trimq health --namesrv 'ns1:9876;ns2:9876'
      these NameServers, and every broker that they list
  trimq health --broker 127.0.0.1:10911 --timeout 1
      one broker, and whether it is registered: in a container, for instance
  trimq health --json

\b
Exit code: 0 when all of them are healthy, 1 when one is not, 2 for wrong usage, or when a server
cannot be asked (its name is unknown, or it answers with a refusal).
"""


def _seconds(context: click.Context, parameter: click.Parameter, value: float) -> float:
    # No comparison finds it out of range.
    if math.isnan(value):
        raise click.BadParameter("nan is not a number of seconds")
    return value


@click.command(epilog=EXAMPLES)
@click.option(
    "--namesrv",
    metavar="HOST:PORT;...",
    help=f"The NameServers.  [default: NAMESRV_ADDR in the environment, or {DEFAULT_NAMESRV}]",
)
@click.option(
    "--broker",
    metavar="HOST:PORT",
    help="Ask this broker only.  [default: every broker that the NameServers list; where no NameServer is named also"
    f" {DEFAULT_BROKER}]",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True, max=86_400),
    callback=_seconds,
    default=3.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for each answer.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def health(namesrv: str | None, broker: str | None, timeout: float, as_json: bool) -> None:
    """Ask NameServers and brokers, TriMQ's or RocketMQ's, whether they are well."""
    # Not for the other commands. A part of what `trimq.admin` has: this one is run often.
    from trimq.admin.brokers.health import servers_health
    from trimq.admin.connecting.addresses import check_addr, name_server_list
    from trimq.admin.connecting.blocking_link import BlockingLink, result_of
    from trimq.admin.errors import Invalid

    named = namesrv or os.environ.get("NAMESRV_ADDR")
    asked = broker or (None if named else DEFAULT_BROKER)
    try:
        link = BlockingLink(name_server_list(named or DEFAULT_NAMESRV), timeout, None, None)
        if asked is not None:
            check_addr(asked)
    except Invalid as error:
        raise Misused(str(error)) from None
    try:
        found = result_of(servers_health(link, asked, with_others=broker is None))
    finally:
        link.close()
    click.echo(as_object(found) if as_json else "\n".join(map(line, found)))
    raise SystemExit(exit_code(found))


def exit_code(found: "list[ServerHealth]") -> int:
    """What is known to be wrong counts more than what is not known."""
    verdicts = [one.ok for one in found]
    if False in verdicts:
        return 1
    return _NOT_KNOWN if None in verdicts else 0


def as_object(found: "list[ServerHealth]") -> str:
    """Members are added over time, never changed."""
    troubles = [(one, text) for one in found for text in one.why + one.unknown]
    value: dict[str, Any] = {
        "ok": exit_code(found) == 0,
        "why": [f"{one.kind} {one.addr}: {text}" for one, text in troubles],
        "servers": [_server(one) for one in found],
    }
    return json.dumps(value, ensure_ascii=False)


def _server(one: "ServerHealth") -> dict[str, Any]:
    value: dict[str, Any] = {"kind": one.kind, "address": one.addr, "ok": one.ok}
    if one.name:
        value |= {"name": one.name, "id": one.broker_id}
    if one.told:
        value["told"] = one.told
    return value | {"why": one.why, "unknown": one.unknown}
