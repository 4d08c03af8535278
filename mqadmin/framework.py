"""What all commands have in common: how they are made, their flags, and the client."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Final, TypeVar

import click

from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.connecting.addresses import check_addr
from trimq.admin.connecting.signing import AccessKeys
from trimq.admin.connecting.tls import FLAGS as TLS_FLAGS
from trimq.admin.connecting.tls import Flag, client_tls
from trimq.admin.errors import Invalid
from trimq.mqadmin.examples import epilog
from trimq.mqadmin.failures import DEFAULT_NAMESRV, FAILURES, Failed, sentence
from trimq.mqadmin.names import COMMANDS
from trimq.mqadmin.output import Output, complain
from trimq.remoting.tls.contexts import ClientTls, TlsFilesError

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


@dataclass(slots=True)
class Run:
    """One run of a command: the client, where to print, whether a part of it failed.

    `timeout` are the seconds that the client waits for an answer.
    """

    admin: BlockingAdminClient
    out: Output
    partly_failed: bool = False
    timeout: float = 5.0
    # No NameServer was named: the default is asked.
    by_default: bool = False
    tls: ClientTls | None = None
    said: set[str] = field(default_factory=set)

    def problem(self, error: Exception | str) -> None:
        """Say what failed, once, and continue; the exit code will be 1."""
        self.partly_failed = True
        self._say(self.sentence(error), "red")

    def warn(self, text: str) -> None:
        """Say what the user may not have meant, once, and continue; not a failure."""
        self._say(text, "yellow")

    def sentence(self, error: Exception | str) -> str:
        """What failed, and what may be behind it."""
        return sentence(error, by_default=self.by_default, tls=self.tls)

    def _say(self, text: str, colour: str) -> None:
        if text not in self.said:
            self.said.add(text)
            complain(text, colour)

    def on_each(self, addrs: Iterable[str], action: Callable[[str], None]) -> bool:
        """Do it for every address; failures do not stop the others.

        Returns whether it worked for all.
        """
        all_done = True
        for addr in addrs:
            try:
                action(addr)
            except FAILURES as error:
                all_done = False
                self.problem(error)
        return all_done


def boolean(value: Any) -> bool:
    """`true` or `false` in any case. The official tool treats every other word as false."""
    text = str(value).strip().lower()
    if text not in ("true", "false"):
        raise click.BadParameter(f"{value!r} is neither true nor false")
    return text == "true"


def boolean_option(*names: str, **more: Any) -> Callable[[F], F]:
    """A flag with `true` or `false` behind it."""
    return click.option(*names, type=boolean, metavar="true|false", **more)


def number_option(*names: str, least: int = 1, **more: Any) -> Callable[[F], F]:
    """A flag with a whole number behind it; the help shows its default."""
    return click.option(*names, type=click.IntRange(min=least), show_default=True, **more)


def together(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Several flags as one decorator; the help shows them in this order."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def admin_command(name: str) -> Callable[[Callable[..., None]], click.Command]:
    """Makes `mqadmin NAME` from a function that takes a Run and its own flags."""
    return _asking(name, COMMANDS[name])


def admin_subcommand(
    group: click.Group, name: str, text: str
) -> Callable[[Callable[..., None]], click.Command]:
    """Makes `mqadmin GROUP NAME` likewise; `text` says what it does."""

    def decorate(function: Callable[..., None]) -> click.Command:
        command = _asking(name, text)(function)
        group.add_command(command)
        return command

    return decorate


def _asking(name: str, text: str) -> Callable[[Callable[..., None]], click.Command]:
    def decorate(function: Callable[..., None]) -> click.Command:
        @wraps(function)
        def invoke(**options: Any) -> None:
            common = {key: options.pop(key) for key in _COMMON}
            common["namesrv_addr"] = _name_servers(common["namesrv_addr"])
            _run(function, common, {key: _stripped(value) for key, value in options.items()})

        return click.command(name, help=text, epilog=epilog(name))(_common_options(invoke))

    return decorate


def local_command(name: str) -> Callable[[Callable[..., None]], click.Command]:
    """Makes `mqadmin NAME` from a function that takes an Output: it asks no server, and needs no -n."""

    def decorate(function: Callable[..., None]) -> click.Command:
        @wraps(function)
        def invoke(namesrv_addr: str | None, as_json: bool, **options: Any) -> None:
            function(Output(as_json), **options)

        unused = click.option("-n", "--namesrvAddr", "namesrv_addr", help="Not needed.")
        return click.command(name, help=COMMANDS[name], epilog=epilog(name))(
            unused(_json_option(invoke))
        )

    return decorate


def _no_nan(ctx: click.Context, param: click.Parameter, value: float) -> float:
    # No comparison finds it out of range.
    if math.isnan(value):
        raise click.BadParameter("nan is not a number of seconds")
    return value


_json_option: Final = click.option(
    "--json", "as_json", is_flag=True, help="One JSON value per line."
)
_COMMON: Final = (
    "namesrv_addr",
    "as_json",
    "timeout",
    "access_key",
    "secret_key",
    *(flag.key for flag in TLS_FLAGS),
)


def _tls_option(flag: Flag) -> Callable[[F], F]:
    return click.option(
        flag.name,
        envvar=flag.variable,
        is_flag=not flag.metavar,
        metavar=flag.metavar,
        help=flag.help,
    )


_common_options: Final = together(
    click.option(
        "-n",
        "--namesrvAddr",
        "namesrv_addr",
        envvar="NAMESRV_ADDR",
        metavar="HOST:PORT;...",
        help=f"The NameServers; without it NAMESRV_ADDR in the environment, else {DEFAULT_NAMESRV}.",
    ),
    _json_option,
    click.option(
        "--timeout",
        # A day at most: sockets do not accept every number, nor infinity.
        type=click.FloatRange(min=0, min_open=True, max=86_400),
        callback=_no_nan,
        default=5.0,
        show_default=True,
        metavar="SECONDS",
        help="How long to wait for an answer.",
    ),
    click.option(
        "--access-key",
        envvar="MQADMIN_ACCESS_KEY",
        metavar="NAME",
        help="Signs requests, together with --secret-key; or set MQADMIN_ACCESS_KEY.",
    ),
    click.option(
        "--secret-key",
        envvar="MQADMIN_SECRET_KEY",
        metavar="SECRET",
        help="Or set MQADMIN_SECRET_KEY, which `ps` does not show.",
    ),
    *(_tls_option(flag) for flag in TLS_FLAGS),
)


def _run(function: Callable[..., None], common: dict[str, Any], options: dict[str, Any]) -> None:
    keys = _keys(common["access_key"], common["secret_key"])
    addrs = common["namesrv_addr"] or DEFAULT_NAMESRV
    try:
        tls = client_tls(common)
        admin = BlockingAdminClient(
            addrs, timeout=common["timeout"], tls=tls.context() if tls else None, keys=keys
        )
    except Invalid as error:
        raise click.UsageError(f"-n: {error}") from None
    except TlsFilesError as error:
        raise click.UsageError(str(error)) from None
    with admin:
        run = Run(admin, Output(common["as_json"]), timeout=common["timeout"])
        run.by_default = not common["namesrv_addr"]
        run.tls = tls
        try:
            function(run, **options)
        except FAILURES as error:
            raise Failed(run.sentence(error)) from None
        except KeyboardInterrupt:
            raise Failed("interrupted") from None
    if run.partly_failed:
        raise click.exceptions.Exit(Failed.exit_code)


def _name_servers(named: str | None) -> str | None:
    """Those of the command's own -n, else of the one before the command, else of the environment."""
    ctx = click.get_current_context()
    before = ctx.find_object(str)
    on_command_line = click.core.ParameterSource.COMMANDLINE
    if before and ctx.get_parameter_source("namesrv_addr") is not on_command_line:
        return before
    return named


def _keys(access_key: str | None, secret_key: str | None) -> AccessKeys | None:
    """The keys of the flags, else of `$ROCKETMQ_HOME/conf/tools.yml` if that is there."""
    if access_key and secret_key:
        return AccessKeys(access_key, secret_key)
    if access_key or secret_key:
        raise click.UsageError("--access-key and --secret-key belong together")
    from trimq.mqadmin.files.tools import keys_of_tools_file

    return keys_of_tools_file()


def _stripped(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def dry_run_option(function: F) -> F:
    """`--dry-run`, our own flag of commands that move or delete."""
    return click.option(
        "--dry-run", is_flag=True, help="Only say what would happen; nothing is changed."
    )(function)


def topic_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """For a shell that completes: topics that begin like this. Nothing when no server answers at once."""
    given = ctx.params.get("namesrv_addr")
    before = ctx.find_object(str)
    try:
        with BlockingAdminClient(given or before or DEFAULT_NAMESRV, timeout=1) as admin:
            return sorted(name for name in admin.topic_names() if name.startswith(incomplete))
    except FAILURES:
        return []


def topic_option(function: F) -> F:
    """`-t TOPIC`, which must be given."""
    return click.option(
        "-t", "--topic", required=True, help="The topic.", shell_complete=topic_names
    )(function)


def broker_or_cluster(function: F) -> F:
    """`-b HOST:PORT` and `-c CLUSTER`; `chosen_addrs` reads them."""
    function = click.option("-c", "--clusterName", "cluster", help="All masters of a cluster.")(
        function
    )
    return click.option(
        "-b", "--brokerAddr", "broker_addr", metavar="HOST:PORT", help="One broker."
    )(function)


def _addr(value: Any) -> str:
    try:
        return check_addr(str(value).strip())
    except Invalid as error:
        raise click.BadParameter(str(error)) from None


def container_option(function: F) -> F:
    """`-c HOST:PORT` of a BrokerContainer, which must be given."""
    return click.option(
        "-c",
        "--brokerContainerAddr",
        "container",
        type=_addr,
        required=True,
        metavar="HOST:PORT",
        help="The BrokerContainer.",
    )(function)


def chosen_members(run: Run, broker_addr: str | None, cluster: str | None) -> list[str]:
    """Like `chosen_addrs`, but a cluster's slaves count too."""
    if broker_addr is not None or cluster is None:
        return chosen_addrs(run, broker_addr, cluster)
    return [addr for ids in run.admin.members(cluster).values() for addr in ids.values()]


def chosen_addrs(run: Run, broker_addr: str | None, cluster: str | None) -> list[str]:
    """The broker, or the cluster's masters; a usage error unless it is exactly one of the two."""
    if (broker_addr is None) == (cluster is None):
        raise click.UsageError("give either -b or -c")
    if broker_addr is not None:
        try:
            return [check_addr(broker_addr)]
        except Invalid as error:
            raise click.UsageError(f"-b: {error}") from None
    assert cluster is not None
    return run.admin.masters(cluster)
