"""`mqadmin COMMAND ...`: finds the command, runs it, and says in one sentence what went wrong.

Exit codes: 0 done, 1 failed, 2 wrong usage.
"""

import sys
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING, Final

import click

from trimq.mqadmin import names
from trimq.mqadmin.text.moments import FORMS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_EPILOG: Final = (
    """\b
Examples:
  mqadmin topicList
  mqadmin tail MyTopic -f
  mqadmin -n 192.0.2.7:9876 topicRoute -t MyTopic --json
  mqadmin help updateTopic
Without -n and NAMESRV_ADDR the NameServer at 127.0.0.1:9876 is asked.
A TIME is """
    + FORMS
    + """.
"""
)


class Commands(click.Group):
    """Loads the file of a command when that command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*names.COMMANDS, *self.commands])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = names.find(cmd_name)
        if name is None:
            return super().get_command(ctx, cmd_name)
        module = import_module(f"trimq.mqadmin.commands.{names.module_of(name)}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without loading any."""
        for subject, commands in names.SUBJECTS.items():
            with formatter.section(subject):
                formatter.write_dl(list(commands.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            absent = names.why_absent(args[0])
            if absent is not None:
                raise click.UsageError(absent, ctx) from None
            near = _nearest(args[0])
            if near:
                raise click.UsageError(f"{error.message} Did you mean {near}?", ctx) from None
            raise

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list["CompletionItem"]:
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return _matching(incomplete)


def _nearest(text: str) -> str | None:
    from difflib import get_close_matches

    by_lower = {name.lower(): name for name in names.COMMANDS}
    close = get_close_matches(text.lower(), by_lower, 1)
    return by_lower[close[0]] if close else None


@click.group(
    cls=Commands,
    epilog=_EPILOG,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "-n",
    "--namesrvAddr",
    "namesrv_addr",
    metavar="HOST:PORT;...",
    help="The NameServers; may also follow the command.",
)
@click.version_option(package_name="trimq", message="mqadmin of TriMQ %(version)s")
@click.pass_context
def main(ctx: click.Context, namesrv_addr: str | None) -> None:
    """Administer RocketMQ and TriMQ: topics, groups, messages, brokers, NameServers."""
    # Bodies may hold anything: what a terminal cannot show appears as a question mark.
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    ctx.obj = namesrv_addr
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def _complete_names(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list["CompletionItem"]:
    return _matching(incomplete)


def _matching(incomplete: str) -> list["CompletionItem"]:
    from click.shell_completion import CompletionItem

    wanted = incomplete.lower()
    matching = [name for name in names.COMMANDS if name.lower().startswith(wanted)]
    return [CompletionItem(name, help=names.COMMANDS[name]) for name in matching]


@main.command("help", hidden=True)
@click.argument("name", required=False, shell_complete=_complete_names)
@click.pass_context
def show_help(ctx: click.Context, name: str | None) -> None:
    """Print the help of a command."""
    group = ctx.parent
    assert group is not None
    if name is None:
        click.echo(group.get_help())
        return
    command = main.get_command(group, name)
    if command is None:
        absent = names.why_absent(name)
        if absent is not None:
            raise click.UsageError(absent, group)
        near = _nearest(name)
        hint = f" Did you mean {near}?" if near else ""
        raise click.UsageError(f"No such command {name!r}.{hint}", group)
    with click.Context(command, group, info_name=names.find(name)) as of_command:
        click.echo(command.get_help(of_command))
