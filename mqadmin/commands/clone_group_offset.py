"""cloneGroupOffset: give a group the offsets of another one. Java: CloneGroupOffsetCommand.

Offsets of all topics of the source are copied; the topic says at which brokers.
"""

import click

from trimq.mqadmin.framework import Run, admin_command, topic_option


@admin_command("cloneGroupOffset")
@click.option("-s", "--srcGroup", "source", required=True, help="The group to copy from.")
@click.option("-d", "--destGroup", "target", required=True, help="The group to copy to.")
@topic_option
@click.option("-o", "--offline", help="Accepted and ignored, as by the official tool.")
def command(run: Run, source: str, target: str, topic: str, offline: str | None) -> None:
    copied = run.admin.clone_offsets(source, target, topic)
    # Without a line end, as the official tool.
    run.out.text(
        f"clone group offset success. srcGroup[{source}], destGroup=[{target}], topic[{topic}]"
    )
    run.out.value([{"queue": queue, "offset": offset} for queue, offset in copied.items()])
