"""``trimq proxy``: the endpoint of the 5.x clients (gRPC), before any RocketMQ or TriMQ."""

import os
from typing import Any

import click

from trimq.commands.cli import logging_options, run
from trimq.commands.health import DEFAULT_NAMESRV
from trimq.serving.ready_line import print_ready

EXAMPLES = """
\b
Examples:
  trimq proxy
      clients at 127.0.0.1:8081, the cluster of the NameServer at 127.0.0.1:9876
  trimq proxy --namesrv 'ns1:9876;ns2:9876' --listen 0.0.0.0:8081
      a cluster of TriMQ or RocketMQ 5.x brokers, for clients on other machines
"""


@click.command(epilog=EXAMPLES)
@click.option(
    "-n",
    "--namesrv",
    metavar="HOST:PORT;...",
    help=f"The NameServers.  [default: NAMESRV_ADDR in the environment, or {DEFAULT_NAMESRV}]",
)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    default="127.0.0.1:8081",
    show_default=True,
    help="Where 5.x clients connect.",
)
@click.option(
    "--advertise",
    metavar="HOST:PORT",
    default="",
    help="The address that clients are told.  [default: the one that each has called]",
)
@logging_options
def proxy(
    log_level: str, log_format: str, namesrv: str | None, listen: str, advertise: str
) -> None:
    """Serve the 5.x clients of RocketMQ: gRPC outside, remoting inside."""

    def start() -> Any:
        from trimq.proxy.config import ProxyConfig
        from trimq.serving.proxy import ProxyOptions, run_proxy
        from trimq.settings.endpoints import Endpoint

        named = namesrv or os.environ.get("NAMESRV_ADDR") or DEFAULT_NAMESRV
        options = ProxyOptions(
            listen=Endpoint.parse(listen),
            name_servers=[addr.strip() for addr in named.split(";") if addr.strip()],
            config=ProxyConfig(namesrv_addr=named),
            advertise=advertise,
        )
        return lambda: run_proxy(options, print_ready)

    run(start, log_level, log_format)
