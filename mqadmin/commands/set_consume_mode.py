"""setConsumeMode: whether a group pulls or pops a topic. Java: SetConsumeModeSubCommand."""

import click

from trimq.codec.bodies.request_modes import SetMessageRequestModeRequestBody
from trimq.codec.enums import MessageRequestMode
from trimq.mqadmin.framework import Run, admin_command, broker_or_cluster, chosen_addrs
from trimq.mqadmin.text.java import hash_order


@admin_command("setConsumeMode")
@broker_or_cluster
@click.option("-t", "--topicName", "topic", required=True, help="The topic.")
@click.option("-g", "--groupName", "group", required=True, help="The group.")
@click.option(
    "-m",
    "--mode",
    type=click.Choice(["PULL", "POP"]),
    required=True,
    help="How messages are taken.",
)
@click.option(
    "-q",
    "--popShareQueueNum",
    "share",
    type=int,
    default=0,
    help="With POP: how many clients a queue is shared with; -1 for all.",
)
def command(
    run: Run,
    broker_addr: str | None,
    cluster: str | None,
    topic: str,
    group: str,
    mode: MessageRequestMode,
    share: int,
) -> None:
    wanted = SetMessageRequestModeRequestBody(
        topic=topic, consumer_group=group, mode=mode, pop_share_queue_num=share
    )

    def change(addr: str) -> None:
        run.admin.set_request_mode(addr, wanted)
        run.out.row(f"set consume mode to {addr} success.", {"addr": addr, "mode": wanted})

    addrs = hash_order(chosen_addrs(run, broker_addr, cluster))
    run.on_each(addrs, change)
    if cluster is not None or not run.partly_failed:
        # Without a line end, like the official tool.
        run.out.text(
            f"topic[{topic}] group[{group}] consume mode[{mode}] popShareQueueNum[{share}]"
        )
