"""updateNamesrvConfig: change a setting of every NameServer. Java: UpdateNamesrvConfigCommand."""

import click

from trimq.mqadmin.framework import Run, admin_command
from trimq.mqadmin.text.java import java


@admin_command("updateNamesrvConfig")
@click.option("-k", "--key", required=True, help="The setting.")
@click.option("-v", "--value", required=True, help="Its new value.")
def command(run: Run, key: str, value: str) -> None:
    answers = run.admin.update_name_server_config({key: value})
    run.out.line(f"update name server config success!{java(list(run.admin.name_servers))}")
    run.out.row(f"{key} : {value}", {"key": key, "value": value})
    # TriMQ says what its success means when the change does not take effect at once.
    said = {addr: text for addr, text in answers.items() if text is not None}
    shown = run.admin.name_server_config() if said else {}
    for addr, text in said.items():
        (run.warn if key in shown[addr] else run.problem)(f"{addr}: {text}")
