"""updateKvConfig: set an entry on every NameServer. Java: UpdateKvConfigCommand."""

import click

from trimq.mqadmin.framework import Run, admin_command


@admin_command("updateKvConfig")
@click.option("-s", "--namespace", required=True, help="The namespace.")
@click.option("-k", "--key", required=True, help="The key.")
@click.option("-v", "--value", required=True, help="The value.")
def command(run: Run, namespace: str, key: str, value: str) -> None:
    run.admin.put_kv(namespace, key, value)
    entry = {"namespace": namespace, "key": key, "value": value}
    run.out.row("create or update kv config to namespace success.", entry)
