"""removeBroker: let a BrokerContainer stop one of its brokers. Java: RemoveBrokerSubCommand.

Plain brokers, TriMQ's among them, refuse it.
"""

import click

from trimq.mqadmin.framework import Run, admin_command, container_option


@admin_command("removeBroker")
@container_option
@click.option(
    "-b",
    "--brokerIdentity",
    "identity",
    required=True,
    metavar="CLUSTER:NAME:ID",
    help="Which one.",
)
def command(run: Run, container: str, identity: str) -> None:
    parts = [part.strip() for part in identity.split(":")]
    if len(parts) != 3 or not parts[2].isdecimal():
        raise click.UsageError(f"-b: {identity!r} is not CLUSTER:NAME:ID")
    cluster, name, broker_id = parts
    run.admin.remove_broker(container, cluster, name, int(broker_id))
    value = {"container": container, "broker": identity}
    run.out.row(f"remove broker from {container} success", value)
