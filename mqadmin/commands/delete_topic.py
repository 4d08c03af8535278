"""deleteTopic: delete topics from a cluster's masters and from the NameServers.

Java: DeleteTopicSubCommand.
"""

from collections.abc import Sequence

import click

from trimq.mqadmin.common.listed import PACE, in_parts, names_in, refuse_system_topics
from trimq.mqadmin.common.planning import plan_topic_deletion, warn_of_absent_topic
from trimq.mqadmin.framework import Run, admin_command, dry_run_option, topic_names


@admin_command("deleteTopic")
@click.option(
    "-t",
    "--topic",
    "listed",
    required=True,
    help=f"The topic, or some separated by commas. {PACE}",
    shell_complete=topic_names,
)
@click.option("-c", "--clusterName", "cluster", required=True, help="The cluster.")
@dry_run_option
def command(run: Run, listed: str, cluster: str, dry_run: bool) -> None:
    topics = names_in(listed)
    addrs = run.admin.masters(cluster)
    refuse_system_topics(run, topics, addrs)
    if dry_run:
        for topic in topics:
            plan_topic_deletion(run, topic, addrs)
        return
    in_parts(run, topics, lambda part: _delete(run, part, cluster, addrs))


def _delete(run: Run, topics: Sequence[str], cluster: str, addrs: Sequence[str]) -> bool:
    there = {topic: warn_of_absent_topic(run, topic, addrs) for topic in topics}
    if not run.on_each(addrs, lambda addr: run.admin.delete_topics_on_broker(addr, topics)):
        return False
    for topic in topics:
        run.out.line(f"delete topic [{topic}] from cluster [{cluster}] success.")
        run.admin.delete_topic_on_name_servers(topic, cluster)
        run.out.line(f"delete topic [{topic}] from NameServer success.")
        run.out.value({"topic": topic, "cluster": cluster, "deleted": there[topic]})
    return True
