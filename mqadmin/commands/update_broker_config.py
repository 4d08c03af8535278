"""updateBrokerConfig: change a setting of running brokers. Java: UpdateBrokerConfigSubCommand.

TriMQ says what its success means when the change does not take effect at once. RocketMQ answers
with success even if it has no such setting or cannot read the value, so its settings are checked
afterwards.
"""

from decimal import Decimal, InvalidOperation
from difflib import get_close_matches

import click

from trimq.mqadmin.framework import (
    Run,
    admin_command,
    broker_or_cluster,
    chosen_addrs,
    chosen_members,
)
from trimq.mqadmin.text.java import hash_order


@admin_command("updateBrokerConfig")
@broker_or_cluster
@click.option("-a", "--updateAllBroker", "all_brokers", metavar="ANY", help="Slaves too.")
@click.option("-k", "--key", required=True, help="The setting.")
@click.option("-v", "--value", required=True, help="Its new value.")
def command(
    run: Run,
    broker_addr: str | None,
    cluster: str | None,
    all_brokers: str | None,
    key: str,
    value: str,
) -> None:
    # The official tool accepts -a with any value, even "false".
    choose = chosen_addrs if all_brokers is None else chosen_members

    def change(addr: str) -> None:
        said = run.admin.update_broker_config(addr, {key: value})
        entry = {"addr": addr, "key": key, "value": value}
        run.out.row(f"update broker config success, {addr}", entry)
        settings = run.admin.broker_config(addr)
        now = settings.get(key)
        if said is not None:
            (run.problem if now is None else run.warn)(f"{addr}: {said}")
        elif now is None:
            near = get_close_matches(key, settings, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            run.problem(f"{addr} has no setting {key!r}: nothing has changed{hint}")
        elif not _is_same(now, value):
            run.problem(f"{addr} did not take {key}={value}: it is {now!r}")

    run.on_each(hash_order(choose(run, broker_addr, cluster)), change)


def _is_same(shown: str, given: str) -> bool:
    """Whether a broker shows what it was given: `True` as `true`, `07` as `7`, `5` as `5.0`."""
    if shown.lower() == given.lower():
        return True
    try:
        # Decimals, so that no digit of a long number is lost.
        return Decimal(shown) == Decimal(given)
    except InvalidOperation:
        return False
