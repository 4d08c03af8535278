"""topicList: the NameServer's topics; with -c the cluster and the groups of each.

Java: TopicListSubCommand.
"""

from typing import Final

import click

from trimq.admin.cluster import preferred_addr
from trimq.admin.groups import DEAD_LETTER_PREFIX, RETRY_PREFIX
from trimq.codec.bodies.cluster import ClusterInfo
from trimq.mqadmin.framework import FAILURES, Run, admin_command
from trimq.mqadmin.java_text import cut, hash_order

_HEAD: Final = "{:<20}  {:<48}  {:<48}"
_ROW: Final = "{:<20}  {:<64}  {:<64}"


@admin_command("topicList")
@click.option("-c", "--clusterModel", "with_groups", is_flag=True, help="Clusters and groups too.")
def command(run: Run, with_groups: bool) -> None:
    names = hash_order(run.admin.topic_names())
    if with_groups:
        _with_groups(run, names)
        return
    for name in names:
        run.out.row(name, {"topic": name})


def _with_groups(run: Run, names: list[str]) -> None:
    clusters = run.admin.cluster_info()
    run.out.head(_HEAD.format("#Cluster Name", "#Topic", "#Consumer Group"))
    for topic in run.out.progress(names, "topics"):
        if topic.startswith((RETRY_PREFIX, DEAD_LETTER_PREFIX)):
            continue
        cluster: str | None = ""
        groups: list[str] = []
        try:
            cluster = _cluster_of(run, topic, clusters)
            groups = hash_order(run.admin.topic_groups(topic))
        except FAILURES as error:
            run.problem(error)
        for group in groups or [""]:
            text = _ROW.format(cut(cluster, 20), cut(topic, 64), cut(group, 64))
            run.out.line(text)
        run.out.value({"cluster": cluster, "topic": topic, "groups": groups})


def _cluster_of(run: Run, topic: str, clusters: ClusterInfo) -> str | None:
    brokers = run.admin.topic_route(topic).broker_datas
    first = next((one.broker_name for one in brokers if preferred_addr(one)), None)
    tables = clusters.cluster_addr_table
    return next((name for name in hash_order(tables) if first in tables[name]), None)
