"""deleteTopic: delete topics from a cluster's masters and from the NameServers.

Java: DeleteTopicSubCommand.
"""

import click

from trimq.mqadmin.common.planning import plan_topic_deletion, warn_of_absent_topic
from trimq.mqadmin.framework import Run, admin_command, dry_run_option, names_in, topic_names


@admin_command("deleteTopic")
@click.option(
    "-t",
    "--topic",
    "listed",
    required=True,
    help="The topic, or some separated by commas.",
    shell_complete=topic_names,
)
@click.option("-c", "--clusterName", "cluster", required=True, help="The cluster.")
@dry_run_option
def command(run: Run, listed: str, cluster: str, dry_run: bool) -> None:
    topics = names_in(listed)
    addrs = run.admin.masters(cluster)
    for topic in topics:
        if dry_run:
            plan_topic_deletion(run, topic, addrs)
        else:
            warn_of_absent_topic(run, topic, addrs)
    if dry_run:
        return
    run.on_each(addrs, lambda addr: run.admin.delete_topics_on_broker(addr, topics))
    if run.partly_failed:
        return
    for topic in topics:
        run.out.line(f"delete topic [{topic}] from cluster [{cluster}] success.")
        run.admin.delete_topic_on_name_servers(topic, cluster)
        run.out.line(f"delete topic [{topic}] from NameServer success.")
        run.out.value({"topic": topic, "cluster": cluster, "deleted": True})
