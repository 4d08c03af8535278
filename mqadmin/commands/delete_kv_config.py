"""deleteKvConfig: remove an entry from every NameServer. Java: DeleteKvConfigCommand."""

import click

from trimq.mqadmin.framework import Run, admin_command


@admin_command("deleteKvConfig")
@click.option("-s", "--namespace", required=True, help="The namespace.")
@click.option("-k", "--key", required=True, help="The key.")
def command(run: Run, namespace: str, key: str) -> None:
    run.admin.delete_kv(namespace, key)
    run.out.row("delete kv config from namespace success.", {"namespace": namespace, "key": key})
