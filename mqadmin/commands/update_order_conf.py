"""updateOrderConf: an ordered topic's entry on the NameServers. Java: UpdateOrderConfCommand."""

import click

from trimq.admin.brokers.namesrv import ORDER_TOPICS
from trimq.mqadmin.framework import Run, admin_command, topic_option


@admin_command("updateOrderConf")
@topic_option
@click.option("-v", "--orderConf", "entry", metavar="BROKER:QUEUES;...", help="What to put.")
@click.option(
    "-m", "--method", required=True, type=click.Choice(["put", "get", "delete"]), help="What to do."
)
def command(run: Run, topic: str, entry: str | None, method: str) -> None:
    if method == "get":
        entry = run.admin.get_kv(ORDER_TOPICS, topic)
        # The blank after it is the official tool's.
        run.out.text(f"get orderConf success. topic=[{topic}], orderConf=[{entry}] ")
    elif method == "put":
        if not entry:
            raise click.UsageError("put needs -v BROKER:QUEUES;...")
        run.admin.put_kv(ORDER_TOPICS, topic, entry)
        run.out.text(f"update orderConf success. topic=[{topic}], orderConf=[{entry}]")
    else:
        run.admin.delete_kv(ORDER_TOPICS, topic)
        run.out.text(f"delete orderConf success. topic=[{topic}]")
    run.out.value({"topic": topic, "method": method, "orderConf": entry})
