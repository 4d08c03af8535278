"""addBroker: let a BrokerContainer start a broker. Java: AddBrokerSubCommand.

Plain brokers, TriMQ's among them, refuse it.
"""

import click

from trimq.mqadmin.framework import Run, admin_command, container_option


@admin_command("addBroker")
@container_option
@click.option(
    "-b", "--brokerConfigPath", "path", required=True, help="A config file on its machine."
)
def command(run: Run, container: str, path: str) -> None:
    run.admin.add_broker(container, path)
    run.out.row(f"add broker to {container} success", {"container": container, "config": path})
