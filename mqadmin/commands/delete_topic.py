"""deleteTopic: delete a topic from a cluster's masters and from the NameServers.

Java: DeleteTopicSubCommand.
"""

import click

from trimq.mqadmin.common.planning import plan_topic_deletion, warn_of_absent_topic
from trimq.mqadmin.framework import Run, admin_command, dry_run_option, topic_option


@admin_command("deleteTopic")
@topic_option
@click.option("-c", "--clusterName", "cluster", required=True, help="The cluster.")
@dry_run_option
def command(run: Run, topic: str, cluster: str, dry_run: bool) -> None:
    addrs = run.admin.masters(cluster)
    if dry_run:
        plan_topic_deletion(run, topic, addrs)
        return
    warn_of_absent_topic(run, topic, addrs)
    run.on_each(addrs, lambda addr: run.admin.delete_topic_on_broker(addr, topic))
    if run.partly_failed:
        return
    run.out.line(f"delete topic [{topic}] from cluster [{cluster}] success.")
    run.admin.delete_topic_on_name_servers(topic, cluster)
    run.out.line(f"delete topic [{topic}] from NameServer success.")
    run.out.value({"topic": topic, "cluster": cluster, "deleted": True})
