"""``trimq proxy``: the endpoint of the 5.x clients (gRPC), before any RocketMQ or TriMQ."""

from pathlib import Path
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
  trimq proxy -pc rmq-proxy.json --listen 0.0.0.0:8081
      as a proxy of RocketMQ's is configured
"""


@click.command(epilog=EXAMPLES)
@click.option(
    *("-pc", "-c", "--config"),
    "config",
    type=click.Path(path_type=Path, readable=False),
    help="A RocketMQ rmq-proxy.json.",
)
@click.option(
    "-n",
    "--namesrv",
    metavar="HOST:PORT;...",
    help=f"The NameServers.  [default: namesrvAddr, NAMESRV_ADDR in the environment, or {DEFAULT_NAMESRV}]",
)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    help="Where 5.x clients connect.  [default: 127.0.0.1, grpcServerPort or 8081]",
)
@click.option(
    "--advertise",
    metavar="HOST:PORT",
    help="The address that clients are told.  [default: the one that each has called]",
)
@click.option(
    "-pm", "--mode", metavar="cluster", help="As RocketMQ's mqproxy has it; cluster only."
)
@click.option(
    "--set", "assignments", metavar="KEY=VALUE", multiple=True, help="A setting of that file."
)
@click.option("--supervised", is_flag=True, hidden=True)
@logging_options
def proxy(
    log_level: str,
    log_format: str,
    assignments: tuple[str, ...],
    supervised: bool,
    **options: Any,
) -> None:
    """Serve the 5.x clients of RocketMQ: gRPC outside, remoting inside.

    Needs the extra: pip install '/path/to/trimq[grpc]'
    """
    from trimq.settings.parsing import parse_assignments
    from trimq.settings.proxy_extra import check_extra

    def start() -> Any:
        from trimq.settings.proxy import ProxyFlags, proxy_plan

        check_extra()
        flags = ProxyFlags(settings=parse_assignments(assignments), **options)
        if supervised:
            from trimq.serving.supervised_proxy import run_supervised_proxy

            return lambda: run_supervised_proxy(flags)
        from trimq.serving.proxy import run_proxy

        plan = proxy_plan(flags)
        return lambda: run_proxy(plan, print_ready)

    # Its server has said already what both are.
    run(start, log_level, log_format, "trimq.proxy", banner=not supervised)
