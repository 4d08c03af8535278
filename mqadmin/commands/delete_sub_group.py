"""deleteSubGroup: delete groups; from a cluster also their retry and dead-letter topics.

Java: DeleteSubscriptionGroupCommand.
"""

from collections.abc import Sequence

import click

from trimq.codec.names import DLQ_PREFIX, RETRY_PREFIX
from trimq.mqadmin.common.listed import PACE, in_parts, names_in
from trimq.mqadmin.common.planning import plan_group_deletion
from trimq.mqadmin.failures import FAILURES
from trimq.mqadmin.framework import (
    Run,
    admin_command,
    boolean_option,
    broker_or_cluster,
    chosen_addrs,
    dry_run_option,
)
from trimq.mqadmin.text.java import hash_order


@admin_command("deleteSubGroup")
@broker_or_cluster
@click.option(
    "-g",
    "--groupName",
    "listed",
    required=True,
    help=f"The group, or some separated by commas. {PACE}",
)
@boolean_option(
    "-r", "--removeOffset", "with_offsets", default=False, help="Delete its offsets, too."
)
@dry_run_option
def command(
    run: Run,
    broker_addr: str | None,
    cluster: str | None,
    listed: str,
    with_offsets: bool,
    dry_run: bool,
) -> None:
    groups = names_in(listed)
    addrs = hash_order(chosen_addrs(run, broker_addr, cluster))
    if dry_run:
        for group in groups:
            plan_group_deletion(run, group, addrs, with_offsets, cluster is not None)
        return
    where = f" in cluster [{cluster}]" if cluster is not None else ""
    in_parts(
        run,
        groups,
        lambda part: run.on_each(addrs, lambda addr: _delete(run, addr, part, with_offsets, where)),
    )
    if cluster is None:
        return
    try:
        for group in groups:
            for prefix in (RETRY_PREFIX, DLQ_PREFIX):
                run.admin.delete_topic(prefix + group, cluster)
    except FAILURES as error:
        run.problem(error)


def _delete(run: Run, addr: str, groups: Sequence[str], with_offsets: bool, where: str) -> None:
    there = run.admin.groups_of(addr)
    for group in groups:
        if group not in there:
            run.warn(f"{addr} does not have group {group!r}: nothing to delete there")
    run.admin.delete_groups(addr, groups, with_offsets)
    for group in groups:
        text = f"delete subscription group [{group}] from broker [{addr}]{where} success."
        run.out.row(text, {"group": group, "addr": addr, "deleted": group in there})
