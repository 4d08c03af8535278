"""Delivering a message to one consumer once more (-g and -d of the commands that show messages)."""

import click

from trimq.admin.messages.message import Message
from trimq.mqadmin.framework import Run
from trimq.mqadmin.text.java import java


def target_of(group: str | None, client_id: str | None) -> tuple[str, str] | None:
    """Group and client if both are given, None if neither; a usage error otherwise."""
    if group and client_id:
        return group, client_id
    if group or client_id:
        raise click.UsageError("-g and -d belong together: a group and one of its clients")
    return None


def consume_again(run: Run, message: Message, target: tuple[str, str]) -> None:
    """Print what the consumer did with it; a problem if it is not a push consumer."""
    group, client_id = target
    info = run.admin.running_info(group, client_id)
    if info.properties.get("PROP_CONSUME_TYPE") != "CONSUME_PASSIVELY":
        run.problem(f"{client_id} is not a push consumer: a message cannot be handed to it")
        return
    result = run.admin.consume_directly(message, group, client_id)
    parts = {
        "order": result.order,
        "autoCommit": result.auto_commit,
        "consumeResult": result.consume_result,
        "remark": result.remark,
        "spentTimeMills": result.spent_time_mills,
    }
    text = ", ".join(f"{name}={java(value)}" for name, value in parts.items())
    run.out.text(f"ConsumeMessageDirectlyResult [{text}]")
    run.out.value(result)
