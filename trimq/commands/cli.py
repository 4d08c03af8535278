"""The ``trimq`` command: ``server``, ``namesrv`` and others, each of which has a file of its own.

Standard output carries the one ready line; logs and errors go to standard error. Exit codes: 0 after a
clean shutdown, 1 when the server cannot run, 2 for wrong usage.
"""

import logging
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeVar

import click

import trimq
from trimq import compiled
from trimq.commands.refusals import Misused, Refused
from trimq.logs import setup as logs
from trimq.serving.ready_line import print_ready

log = logging.getLogger(__name__)
F = TypeVar("F", bound=Callable[..., Any])

# Each in a file of its name.
_OTHERS: Final = ("check", "health", "inspect", "install-service", "offsets", "proxy", "spark")

SERVER_EXAMPLES = """
\b
Examples:
  trimq server
      NameServer on 127.0.0.1:9876 and broker on 127.0.0.1:10911, data in ./data
  trimq server --listen 0.0.0.0:10911 --namesrv-listen 0.0.0.0:9876 --advertise 192.0.2.7:10911
      reachable from other machines, which are told 192.0.2.7:10911
  trimq server --namesrv 'ns1:9876;ns2:9876' --config broker.conf --listen 0.0.0.0:10911
      a broker of an existing cluster
  trimq server --listen 127.0.0.1:0 --namesrv-listen 127.0.0.1:0 --set flushDiskType=SYNC_FLUSH
      free ports, every message on disk before its answer
  trimq server --brokers 4 --store /data
      four brokers on the cores of this host: ports 10911, 10921, ..., stores /data/NAME-0, ...
"""


def logging_options(command: F) -> F:
    command = click.option(
        "--log-format", type=click.Choice(logs.FORMATS), default="text", show_default=True
    )(command)
    return click.option(
        "--log-level",
        type=click.Choice(logs.LEVELS),
        default="info",
        show_default=True,
        help="SIGUSR1 switches a running server to debug and back.",
    )(command)


class _Commands(click.Group):
    """Loads the file of a command when that command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*self.commands, *_OTHERS])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _OTHERS:
            return super().get_command(ctx, cmd_name)
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(import_module(f"trimq.commands.{name}"), name)
        return command


def _say_version(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    """One line for programs; for people, why an installation is not compiled."""
    if not is_asked or ctx.resilient_parsing:
        return
    click.echo(f"TriMQ {trimq.__version__} ({compiled.MODE})")
    if reason := compiled.reason():
        click.echo(f"pure Python: {reason}", err=True)
    ctx.exit()


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_say_version,
    help="Show the version and exit.",
)
def main() -> None:
    """A message broker and NameServer that speak RocketMQ's remoting protocol.

    \b
    Start one of each in this folder and stop it with Ctrl-C:
      trimq server
    Ask both whether they are well:
      trimq health
    """


@main.command(epilog=SERVER_EXAMPLES)
@click.option(
    "-c",
    "--config",
    type=click.Path(path_type=Path, readable=False),
    help="A RocketMQ broker.conf.",
)
@click.option(
    "-n",
    "--namesrv",
    metavar="HOST:PORT;...",
    help="NameServers to register with. Without this option, one is embedded.",
)
@click.option(
    "--namesrv-listen",
    metavar="HOST:PORT",
    help="Where the embedded NameServer listens.  [default: 127.0.0.1:9876]",
)
@click.option(
    "--listen", metavar="HOST:PORT", help="Where the broker listens.  [default: 127.0.0.1:10911]"
)
@click.option("--advertise", metavar="HOST:PORT", help="The broker address that clients are told.")
@click.option(
    "--advertise-file",
    type=click.Path(path_type=Path, readable=False),
    help="A file with that address. The start waits until it is there, and each change is announced.",
)
@click.option(
    "--store",
    type=click.Path(path_type=Path),
    help="The store directory.  [default: storePathRootDir, or ./data]",
)
@click.option(
    "--set", "assignments", metavar="KEY=VALUE", multiple=True, help="A broker.conf setting."
)
@click.option(
    "--metrics",
    metavar="HOST:PORT",
    help="Serve Prometheus /metrics, /healthz and /readyz at this address; a port alone means the loopback.",
)
@click.option(
    "--brokers",
    type=int,
    metavar="N",
    help="Run N brokers, each in a process of its own: NAME-0, NAME-1, ... with ports 10 apart and their"
    " stores below the store directory.",
)
@click.option(
    "--hand",
    metavar="HOST:PORT",
    help="For tests: time, faults and looks inside over HTTP at this address; a port alone means the loopback.",
)
@click.option(
    "--hand-insecure",
    is_flag=True,
    help="Serve --hand to other machines, too: they may delete all.",
)
@click.option(
    "--grpc",
    metavar="HOST:PORT",
    help="Serve 5.x clients (gRPC) at this address, by a 'trimq proxy' of its own; a port alone means the loopback."
    " Excludes --brokers.",
)
@click.option(
    "--grpc-config",
    type=click.Path(path_type=Path, readable=False),
    help="A RocketMQ rmq-proxy.json for it. The NameServers, cluster and port are this server's, whatever it says.",
)
@click.option("--supervised", is_flag=True, hidden=True)
@logging_options
def server(
    log_level: str,
    log_format: str,
    assignments: tuple[str, ...],
    brokers: int | None,
    **options: Any,
) -> None:
    """Run a broker, with an embedded NameServer unless --namesrv names others."""
    from trimq.settings.parsing import parse_assignments

    if brokers is not None and options["hand"] is not None:
        raise click.UsageError("--hand holds one broker: leave --brokers out")
    if brokers is not None and options["grpc"] is not None:
        raise click.UsageError("--grpc is of one broker: start 'trimq proxy' beside several")

    def start() -> Any:
        from trimq.settings.options import ServerOptions

        log_words = ("--log-level", log_level, "--log-format", log_format)
        chosen = ServerOptions(
            settings=parse_assignments(assignments), log_words=log_words, **options
        )
        if brokers is not None:
            from trimq.supervising.supervisor import run_family

            shared = [*log_words]
            if chosen.config is not None:
                shared += ["--config", str(chosen.config)]
            return lambda: run_family(chosen, brokers, shared, print_ready)
        if chosen.supervised:
            from trimq.supervising.supervised import run_supervised

            return lambda: run_supervised(chosen)
        from trimq.serving.server import run_server

        return lambda: run_server(chosen, print_ready)

    run(start, log_level, log_format)


@main.command()
@click.option(
    "--listen",
    metavar="HOST:PORT",
    help="Where the NameServer listens.  [default: listenPort of the file, or 127.0.0.1:9876]",
)
@click.option(
    "--config", type=click.Path(path_type=Path, readable=False), help="A RocketMQ namesrv.conf."
)
@click.option("--set", "assignments", metavar="KEY=VALUE", multiple=True, help="A setting.")
@logging_options
def namesrv(log_level: str, log_format: str, assignments: tuple[str, ...], **options: Any) -> None:
    """Run a NameServer on its own.

    \b
    Example:
      trimq namesrv --listen 0.0.0.0:9876
    """
    from trimq.settings.parsing import parse_assignments

    def start() -> Any:
        from trimq.serving.server import run_namesrv
        from trimq.settings.options import NamesrvOptions

        chosen = NamesrvOptions(settings=parse_assignments(assignments), **options)
        return lambda: run_namesrv(chosen, print_ready)

    run(start, log_level, log_format)


def run(
    start: Callable[[], Any], log_level: str, log_format: str, within: str = "", banner: bool = True
) -> None:
    """Run an async main until it ends; a clean shutdown (SIGINT, SIGTERM) is exit code 0.

    `within`: what the names of loggers begin with. `banner`: whether it says what it is.
    """
    logs.configure(log_level, log_format, within)
    logs.switch_level_on_signal(log_level)
    python = sys.version.split(maxsplit=1)[0]
    level = logging.INFO if banner else logging.DEBUG
    log.log(level, "TriMQ %s: %s python=%s", trimq.__version__, compiled.description(), python)
    # Trio is loaded here, so that --help and usage errors stay instant.
    import trio

    from trimq.serving.failures import explained, is_usage

    refusal: Misused | Refused | None = None
    try:
        trio.run(start())
    except* Exception as errors:
        sentences = explained(errors)
        if sentences is None:
            raise
        kind = Misused if is_usage(errors) else Refused
        refusal = kind("; ".join(sentences))
    # What is raised above would be put into the group again.
    if refusal is not None:
        raise refusal
