"""``trimq offsets``: what the offsets of consumer groups say."""

import click

from trimq.commands.refusals import Refused


class _Offsets(click.Group):
    """Loads the layer of its commands when one is asked for: the other commands do without."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return ["report"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        try:
            from trimq.spark.offsets.command import report
        except ModuleNotFoundError as error:
            if error.name is None or error.name.split(".")[0] == "trimq":
                raise
            raise Refused(
                f"trimq offsets needs {error.name}, which is not installed: pip install '/path/to/trimq[spark]'"
            ) from None
        return report


@click.group(cls=_Offsets)
def offsets() -> None:
    """Consumer groups' offsets, with Spark (pip install '/path/to/trimq[spark]')."""
