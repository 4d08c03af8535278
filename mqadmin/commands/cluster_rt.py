"""clusterRT: how long sends to each broker take, again and again until Ctrl-C.

Java: CLusterSendMsgRTCommand. The messages go to the topic that each broker keeps under its name.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

import click

from trimq.admin.messages.sending import NewMessage
from trimq.mqadmin.common.repeating import repeat
from trimq.mqadmin.common.round_trips import RoundTrips, mean_text
from trimq.mqadmin.failures import FAILURES, Failed
from trimq.mqadmin.framework import Run, admin_command, boolean_option, number_option
from trimq.mqadmin.text.java import hash_order

_HEAD: Final = "{:<24}  {:<24}  {:<4}  {:<8}  {:<8}"
_ROW: Final = "{:<24}  {:<24}  {:<8}  {:<16}  {:<16}"
_TITLES: Final = ("#Cluster Name", "#Broker Name", "#RT", "#successCount", "#failCount")


@admin_command("clusterRT")
@number_option("-a", "--amount", default=100, help="Messages to each broker in a round.")
@number_option("-s", "--size", least=0, default=128, help="Bytes of a body.")
@click.option("-c", "--cluster", help="Only this cluster.")
@boolean_option(
    "-p",
    "--print",
    "--print log",
    "as_log",
    default=False,
    help="Lines of a log instead of a table.",
)
@click.option(
    "-m",
    "--room",
    "--machine room",
    "room",
    default="noname",
    show_default=True,
    help="A place to name in the log.",
)
@number_option("-i", "--interval", least=0, default=10, metavar="SECONDS", help="Between rounds.")
def command(
    run: Run, amount: int, size: int, cluster: str | None, as_log: bool, room: str, interval: int
) -> None:
    clusters = run.admin.cluster_info().cluster_addr_table
    if cluster is not None and cluster not in clusters:
        raise Failed(f"there is no cluster {cluster!r}; there are: {', '.join(sorted(clusters))}")
    if not as_log:
        run.out.head(_HEAD.format(*_TITLES))

    def one_round() -> None:
        for name in [cluster] if cluster is not None else hash_order(clusters):
            for broker in hash_order(clusters[name]):
                trips = _measure(run, broker, amount, size)
                text = _log(room, name, broker, trips) if as_log else _row(name, broker, trips)
                run.out.row(text, _value(name, broker, trips))
                trips.complain()

    repeat(one_round, interval)


def _value(cluster: str, broker: str, trips: RoundTrips) -> dict[str, object]:
    return {
        "cluster": cluster,
        "brokerName": broker,
        "meanMillis": trips.mean,
        "succeeded": trips.succeeded,
        "failed": trips.failed,
    }


def _measure(run: Run, broker: str, amount: int, size: int) -> RoundTrips:
    trips = RoundTrips(run)
    message = NewMessage(topic=broker, body=b"a" * size)
    try:
        places = run.admin.write_queues(broker)
    except FAILURES as error:
        trips.failed, trips.last_failure = amount, error
        return trips
    for number in range(amount):
        trips.send(message, places[number % len(places)])
    return trips


def _row(cluster: str, broker: str, trips: RoundTrips) -> str:
    return _ROW.format(cluster, broker, mean_text(trips.mean), trips.succeeded, trips.failed)


def _log(room: str, cluster: str, broker: str, trips: RoundTrips) -> str:
    """Times are in China's time zone wherever it runs; whole milliseconds, halves rounded up."""
    now = datetime.now(UTC) + timedelta(hours=8)
    mean = int((trips.mean or 0) + 0.5)
    return f"{now:%Y-%m-%d %H:%M:%S}|{room}|{cluster}|{broker}|{mean}"
