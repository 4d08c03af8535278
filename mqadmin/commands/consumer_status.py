"""consumerStatus: what a group's clients say about themselves, and whether they agree.

Java: ConsumerStatusSubCommand. Without -i each client's account is written to a file `MILLIS/CLIENT` below
the current folder, or to `CLIENT` in the folder of --out.
"""

from pathlib import Path
from typing import Final

import click

from trimq.codec.bodies.clients import ConsumerConnection
from trimq.codec.bodies.queue_tables import ConsumerRunningInfo
from trimq.codec.versions import version_name
from trimq.mqadmin.failures import FAILURES
from trimq.mqadmin.files.writing import is_plain_name, out_option, write_file
from trimq.mqadmin.framework import Run, admin_command
from trimq.mqadmin.text.consumers import running_text, same_subscriptions, stuck_queues

_CLIENT: Final = "{:<10} {:<40} {:<20} {}"


@admin_command("consumerStatus")
@click.option("-g", "--consumerGroup", "group", required=True, help="The group.")
@click.option("-i", "--clientId", "client_id", help="Only this client, in full.")
@click.option(
    "-b", "--brokerAddr", "broker_addr", metavar="HOST:PORT", help="Who knows the clients."
)
@click.option(
    "-s", "--jstack", "with_stacks", is_flag=True, help="Also show what their threads do."
)
@out_option("a new folder named by the time, below the current one")
def command(
    run: Run,
    group: str,
    client_id: str | None,
    broker_addr: str | None,
    with_stacks: bool,
    out: Path | None,
) -> None:
    connection = run.admin.consumer_connection(group, broker_addr)
    if client_id is None:
        show_clients(run, group, connection, with_stacks=with_stacks, out=out)
        return
    info = run.admin.running_info(group, client_id, with_stacks)
    run.out.text(running_text(info))
    run.out.value({"clientId": client_id, "runningInfo": info})


def show_clients(
    run: Run, group: str, connection: ConsumerConnection, *, with_stacks: bool, out: Path | None
) -> None:
    """All members of a group, with a file for each, and what is wrong between them."""
    folder = out or Path(str(run.admin.now()))
    titles = ("#Index", "#ClientId", "#Version", "#ConsumerRunningInfoFile")
    run.out.head(_CLIENT.format(*titles))
    infos: dict[str, ConsumerRunningInfo] = {}
    for client in connection.connection_set:
        name = client.client_id or ""
        try:
            infos[name] = run.admin.running_info(group, name, with_stacks)
        except FAILURES as error:
            run.problem(error)
            continue
        run.out.value({"clientId": name, "runningInfo": infos[name]})
        if not run.out.as_json:
            # A client may choose any name; its file stays where the others are.
            file_name = name if is_plain_name(name) else f"client-{len(infos)}"
            file = _write(run, folder, file_name, running_text(infos[name]))
            version = version_name(client.version)
            run.out.line(_CLIENT.format(len(infos), name, version, file))
    if infos:
        _show_findings(run, infos)


def _write(run: Run, folder: Path, name: str, text: str) -> Path:
    try:
        return write_file(folder, name, text.encode(), replace=True)
    except OSError as error:
        run.problem(f"{folder / name} cannot be written: {error.strerror}")
        return folder / name


def _show_findings(run: Run, infos: dict[str, ConsumerRunningInfo]) -> None:
    now = run.admin.now()
    same = same_subscriptions(infos, now)
    stuck = [text for name in sorted(infos) for text in stuck_queues(name, infos[name], now)]
    run.out.value({"sameSubscriptions": same, "stuck": stuck})
    if not same:
        # Without a line end, like the official tool.
        run.out.text("\n\nWARN: Different subscription in the same group of consumer!!!")
        return
    run.out.text("\n\nSame subscription in the same group of consumer")
    run.out.text("\n\nRebalance OK\n")
    for text in stuck:
        run.out.line(text)
