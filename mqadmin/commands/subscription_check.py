"""subscriptionCheck: which members of a group want something other than the rest. A command of our
own.

Per group and broker, because each broker has its own entry per topic and its own queues.
"""

from typing import Any, Final

import click

from trimq.admin.errors import NotFound
from trimq.admin.groups.subscription_agreement import Dispute, GroupAgreement, GroupMember
from trimq.codec.java.moments import local_seconds
from trimq.codec.names import RETRY_PREFIX
from trimq.mqadmin.failures import FAILURES, Failed
from trimq.mqadmin.framework import Run, admin_command
from trimq.mqadmin.text.java import cut

_ROW: Final = "{:<40}  {:<22}  {:>8}  {:<6}  {}"
_TITLES: Final = ("#Group", "#Broker Addr", "#Members", "#Agree", "#Differ On")
_SAYS: Final = "  {:<32}  {:<5}  {:<8}  {}"
_OVERWRITE: Final = "  {:<19}  {:>6}  {}"


@admin_command("subscriptionCheck")
@click.option("-g", "--group", help="Only this group.")
def command(run: Run, group: str | None) -> None:
    found: list[GroupAgreement] = []
    asked = _of_group(run, group, found) if group else _of_all(run, found)
    if group and asked and not found:
        raise Failed(f"no consumer of group {group!r} is connected")
    run.out.head(_ROW.format(*_TITLES))
    for one in found:
        run.out.row(_row(one), _value(one))
    for one in found:
        for dispute in one.disputes:
            _show(run, one, dispute)
        _show_overwrites(run, one)
    for one in found:
        for client_id, reason in one.unasked.items():
            run.problem(f"member {client_id!r} of group {one.group!r} cannot be asked: {reason}")
        run.partly_failed |= not one.agrees


def _of_group(run: Run, group: str, found: list[GroupAgreement]) -> bool:
    """One group at every broker that has its retry topic; whether all could be asked."""

    def add(addr: str) -> None:
        _add(run, addr, group, found)

    return run.on_each(run.admin.route_addrs(RETRY_PREFIX + group), add)


def _of_all(run: Run, found: list[GroupAgreement]) -> bool:
    """Every group with members at every master."""

    def add(addr: str) -> None:
        for name in run.admin.groups_online(addr):
            try:
                _add(run, addr, name, found)
            except FAILURES as error:
                run.problem(error)

    clusters = run.admin.cluster_info().cluster_addr_table
    addrs = {addr: None for cluster in sorted(clusters) for addr in run.admin.masters(cluster)}
    return run.on_each(addrs, add)


def _add(run: Run, addr: str, group: str, found: list[GroupAgreement]) -> None:
    try:
        found.append(run.admin.group_agreement(addr, group))
    except NotFound:
        # Nobody there, or everybody has just left.
        return


def _row(one: GroupAgreement) -> str:
    agree = "no" if one.disputes else "?" if one.unasked else "yes"
    names = [_about(dispute) for dispute in one.disputes]
    return _ROW.format(
        cut(one.group, 40), one.broker_addr, len(one.members), agree, ", ".join(names) or "-"
    )


def _show(run: Run, group: GroupAgreement, dispute: Dispute) -> None:
    run.out.line()
    run.out.head(
        f"Group {group.group} at {group.broker_addr}: {_about(dispute)}, since {_time(dispute.since)}"
    )
    run.out.line(_SAYS.format("#Says", "#Type", "#InForce", "#Members"))
    for opinion in dispute.opinions:
        says = "(not subscribed)" if opinion.expression is None else opinion.expression
        kind, members = opinion.type or "-", ", ".join(opinion.members)
        run.out.line(_SAYS.format(says, kind, "yes" if opinion.in_force else "no", members))
    for loss in dispute.losses:
        run.out.line(f"  Lost: {loss.text}")


def _show_overwrites(run: Run, group: GroupAgreement) -> None:
    if not group.disputes:
        return
    run.out.line()
    run.out.head(f"Group {group.group} at {group.broker_addr}: who overwrites whom")
    if group.overwrites is None:
        run.out.line("  -")
        return
    run.out.line(_OVERWRITE.format("#Last", "#Times", "#What"))
    for one in reversed(group.overwrites):
        before, after = one.before or "(nothing)", one.after or "(nothing)"
        what = f"{one.by} replaced {before} of {one.of} by {after}, topic {one.topic}"
        run.out.line(_OVERWRITE.format(local_seconds(one.last), one.count, what))


def _about(dispute: Dispute) -> str:
    return f"topic {dispute.topic}" if dispute.topic is not None else dispute.about


def _time(millis: int | None) -> str:
    return local_seconds(millis) if millis else "-"


def _value(one: GroupAgreement) -> dict[str, Any]:
    return {
        "group": one.group,
        "brokerAddr": one.broker_addr,
        "agrees": one.agrees,
        "members": [_member_value(member) for member in one.members],
        "disputes": [_dispute_value(dispute) for dispute in one.disputes],
        "overwrites": one.overwrites,
        "unasked": one.unasked,
    }


def _member_value(member: GroupMember) -> dict[str, Any]:
    said = member.subscriptions
    return {
        "clientId": member.client_id,
        "clientAddr": member.addr,
        "since": member.since,
        "started": member.started,
        "consumeType": member.consume_type,
        "messageModel": member.message_model,
        "consumeFromWhere": member.consume_from_where,
        "subscriptions": None if said is None else list(said.values()),
        "queues": member.queues,
    }


def _dispute_value(dispute: Dispute) -> dict[str, Any]:
    return {
        "about": dispute.about,
        "topic": dispute.topic,
        "since": dispute.since,
        "inForce": dispute.in_force,
        "opinions": [
            {
                "expression": opinion.expression,
                "type": opinion.type,
                "members": opinion.members,
                "inForce": opinion.in_force,
            }
            for opinion in dispute.opinions
        ],
        # Its names have no second word: they are the same in Python and in JSON.
        "losses": dispute.losses,
    }
