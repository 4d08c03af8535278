"""What addWritePerm and wipeWritePerm do on each NameServer."""

from collections.abc import Callable

from trimq.mqadmin.failures import FAILURES
from trimq.mqadmin.framework import Run


def change_write_perm(
    run: Run, verb: str, broker_name: str, change: Callable[[str, str], int]
) -> None:
    """`change` takes a NameServer's address and the broker's name; returns how many topics it concerned."""
    what = f"{verb} write perm of broker[{broker_name}]"
    for addr in run.admin.name_servers:
        try:
            topics = change(addr, broker_name)
        except FAILURES as error:
            run.out.line(f"{what} in name server[{addr}] Failed")
            run.problem(error)
            continue
        run.out.row(f"{what} in name server[{addr}] OK, {topics}", {"addr": addr, "topics": topics})
