"""skipAccumulatedMessage: move a group to the end of a topic. Java: SkipAccumulationSubCommand."""

import click

from trimq.admin.groups.offsets import END
from trimq.mqadmin.common.planning import plan_reset
from trimq.mqadmin.common.resetting import reset_everywhere, route_topic_of
from trimq.mqadmin.framework import Run, admin_command, boolean_option, dry_run_option, topic_option
from trimq.mqadmin.text.offsets import show_committed, show_reset


@admin_command("skipAccumulatedMessage")
@click.option("-g", "--group", required=True, help="The group.")
@topic_option
@boolean_option("-f", "--force", default=True, help="false: never move forward.")
@click.option("-c", "--cluster", help="For lite topics: the topic whose route is used.")
@dry_run_option
def command(
    run: Run, group: str, topic: str, force: bool, cluster: str | None, dry_run: bool
) -> None:
    if dry_run:
        plan_reset(run, group, topic, END, force, route_topic_of(topic, cluster))
        return
    resets = reset_everywhere(run, group, topic, END, force, route_topic_of(topic, cluster))
    if resets.committed is not None:
        show_committed(run, resets.committed, "#rollbackOffset")
    if resets.offsets:
        show_reset(run, resets.offsets)
