"""deleteTopic: delete a topic from a cluster's masters and from the NameServers.

Java: DeleteTopicSubCommand.
"""

import click

from trimq.mqadmin.framework import Run, admin_command, topic_option


@admin_command("deleteTopic")
@topic_option
@click.option("-c", "--clusterName", "cluster", required=True, help="The cluster.")
def command(run: Run, topic: str, cluster: str) -> None:
    addrs = run.admin.masters(cluster)
    run.on_each(addrs, lambda addr: run.admin.delete_topic_on_broker(addr, topic))
    if run.partly_failed:
        return
    run.out.line(f"delete topic [{topic}] from cluster [{cluster}] success.")
    run.admin.delete_topic_on_name_servers(topic, cluster)
    run.out.line(f"delete topic [{topic}] from NameServer success.")
    run.out.value({"topic": topic, "cluster": cluster, "deleted": True})
