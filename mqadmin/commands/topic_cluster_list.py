"""topicClusterList: the clusters that have a topic. Java: TopicClusterSubCommand."""

from trimq.mqadmin.framework import Run, admin_command, topic_option
from trimq.mqadmin.text.java import hash_order


@admin_command("topicClusterList")
@topic_option
def command(run: Run, topic: str) -> None:
    for name in hash_order(run.admin.topic_clusters(topic)):
        run.out.row(name, {"cluster": name})
