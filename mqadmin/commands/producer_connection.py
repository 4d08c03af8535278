"""producerConnection: a producer group's clients. Java: ProducerConnectionSubCommand."""

import click

from trimq.codec.versions import version_name
from trimq.mqadmin.framework import Run, admin_command, topic_option
from trimq.mqadmin.text.java import java


@admin_command("producerConnection")
@click.option("-g", "--producerGroup", "group", required=True, help="The producer group.")
@topic_option
def command(run: Run, group: str, topic: str) -> None:
    found = run.admin.producer_connection(group, topic)
    for number, client in enumerate(found.connection_set, 1):
        words = f"{java(client.client_id):<32} {java(client.client_addr):<22}"
        version = version_name(client.version)
        run.out.row(f"{number:04d}  {words} {java(client.language):<8} {version}", client)
