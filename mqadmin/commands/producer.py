"""producer: every producer that is connected to a broker. Java: ProducerSubCommand."""

import click

from trimq.codec.bodies.progress import ProducerInfo
from trimq.mqadmin.framework import Run, admin_command, chosen_addrs
from trimq.mqadmin.text.java import hash_order, java


@admin_command("producer")
@click.option(
    "-b", "--broker", "broker_addr", required=True, metavar="HOST:PORT", help="The broker."
)
def command(run: Run, broker_addr: str) -> None:
    (addr,) = chosen_addrs(run, broker_addr, None)
    found = run.admin.producers(addr)
    for group in hash_order(found):
        if not found[group]:
            run.out.line(f"producer group ({group}) instances are empty")
        for one in found[group]:
            line = f"producer group ({group}) instance : {_text(one)}"
            run.out.row(line, {"group": group, "producer": one})


def _text(one: ProducerInfo) -> str:
    """ProducerInfo.toString."""
    return (
        f"clientId={java(one.client_id)},remoteIP={java(one.remote_ip)},"
        f" language={java(one.language)}, version={one.version},"
        f" lastUpdateTimestamp={one.last_update_timestamp}"
    )
