"""topicList: the NameServer's topics; with -c the cluster and the groups of each.

Java: TopicListSubCommand. A terminal and --json get sorted names, the system's topics last and marked; a
pipe gets the official tool's lines.
"""

from typing import Final

import click

from trimq.admin.brokers.cluster import preferred_addr
from trimq.codec.bodies.cluster import ClusterInfo
from trimq.codec.names import DLQ_PREFIX, RETRY_PREFIX
from trimq.mqadmin.failures import FAILURES
from trimq.mqadmin.framework import Run, admin_command
from trimq.mqadmin.text.java import cut, hash_order
from trimq.mqadmin.text.listing import SYSTEM, USER, in_order, topic_kinds

_HEAD: Final = "{:<20}  {:<48}  {:<48}"
_ROW: Final = "{:<20}  {:<64}  {:<64}"


@admin_command("topicList")
@click.option("-c", "--clusterModel", "with_groups", is_flag=True, help="Clusters and groups too.")
@click.option(
    "--user", "user_only", is_flag=True, help="Only topics that users made, sorted; on pipes, too."
)
def command(run: Run, with_groups: bool, user_only: bool) -> None:
    names = run.admin.topic_names()
    as_official = run.out.is_piped_text and not user_only
    kinds = dict.fromkeys(hash_order(names), "") if as_official else topic_kinds(run, names)
    if user_only:
        kinds = {name: kind for name, kind in kinds.items() if kind == USER}
    if with_groups:
        _with_groups(run, kinds)
        return
    for name, kind in kinds.items():
        if kind == SYSTEM:
            run.out.aside(f"{name}  (system)")
        else:
            run.out.line(name)
        run.out.value({"topic": name, "kind": kind})


def _with_groups(run: Run, kinds: dict[str, str]) -> None:
    clusters = run.admin.cluster_info()
    run.out.head(_HEAD.format("#Cluster Name", "#Topic", "#Consumer Group"))
    for topic in run.out.progress(list(kinds), "topics"):
        if topic.startswith((RETRY_PREFIX, DLQ_PREFIX)):
            continue
        cluster: str | None = ""
        groups: list[str] = []
        try:
            cluster = _cluster_of(run, topic, clusters)
            groups = in_order(run, run.admin.topic_groups(topic))
        except FAILURES as error:
            run.problem(error)
        for group in groups or [""]:
            text = _ROW.format(cut(cluster, 20), cut(topic, 64), cut(group, 64))
            (run.out.aside if kinds[topic] == SYSTEM else run.out.line)(text)
        value = {"cluster": cluster, "topic": topic, "groups": groups, "kind": kinds[topic]}
        run.out.value(value)


def _cluster_of(run: Run, topic: str, clusters: ClusterInfo) -> str | None:
    brokers = run.admin.topic_route(topic).broker_datas
    first = next((one.broker_name for one in brokers if preferred_addr(one)), None)
    tables = clusters.cluster_addr_table
    return next((name for name in hash_order(tables) if first in tables[name]), None)
