"""``trimq offsets``: what the offsets of consumer groups say."""

import click

from trimq import check_layers


class Unloadable(click.ClickException):
    """The command is not there; the text says why."""

    exit_code = 2


class _Offsets(click.Group):
    """Loads the layer of its commands when one is asked for: the other commands do without."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return ["report"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        try:
            check_layers(("admin", "spark"))
        except ImportError as error:
            raise Unloadable(str(error)) from None
        from spark.offsets.command import report

        return report


@click.group(cls=_Offsets)
def offsets() -> None:
    """Consumer groups' offsets, with Spark (pip install 'trimq[spark]')."""
