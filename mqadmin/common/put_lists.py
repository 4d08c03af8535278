"""What the two commands have in common that send brokers a list of configurations."""

from collections.abc import Callable
from typing import TypeVar

from trimq.codec.bodies.base import Body
from trimq.mqadmin.framework import Run, chosen_addrs
from trimq.mqadmin.text.java import hash_order

B = TypeVar("B", bound=Body)


def put_list(
    run: Run,
    broker_addr: str | None,
    cluster: str | None,
    what: str,
    configs: list[B],
    put: Callable[[str, list[B]], None],
) -> None:
    """Nothing is asked for an empty list."""
    if not configs:
        return

    def submit(addr: str) -> None:
        put(addr, configs)
        text = f"submit batch of {what} config to {addr} success, please check the result later."
        run.out.row(text, {"addr": addr, f"{what}s": len(configs)})

    run.on_each(hash_order(chosen_addrs(run, broker_addr, cluster)), submit)
