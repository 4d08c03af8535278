"""subscriptionCheck finds the same on the real server, which tells little, and on TriMQ, which tells all."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from compat_tests.mqadmin.case import BROKER
from compat_tests.mqadmin.filling import MEMBER, SENT, SPLIT, admin_of
from compat_tests.mqadmin.hand_members import HandMember, Wishes
from compat_tests.mqadmin.stage import AdminStage
from tests.patience import until
from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.errors import AdminError, NotFound
from trimq.remoting.errors import TransportError

KINDS = ("real", "trimq")
BY_MEMBER_0 = [(SENT, 0), (SENT, 1)]
BY_MEMBER_1 = [(SENT, 2), (SENT, 3)]


def check(stage: AdminStage, kind: str, group: str) -> tuple[int | None, dict[str, Any]]:
    """The exit code and what is said of the group."""
    printed = stage.ours.run(
        stage.servers[kind].namesrv_addr, ["subscriptionCheck", "-g", group, "--json"]
    )
    assert not printed.err
    (found,) = [json.loads(line) for line in printed.out.splitlines()]
    return printed.code, found


def joined(
    stage: AdminStage, kind: str, group: str, members: list[Wishes], all_: ExitStack
) -> None:
    """Members c0, c1 ... in this order; their group is known to the NameServer then."""
    server = stage.servers[kind]
    for number, wishes in enumerate(members):
        member = HandMember(server.broker_addr, BROKER, group, f"c{number}")
        all_.callback(member.close)
        assert member.join(wishes).code == 0
    with BlockingAdminClient(server.namesrv_addr) as admin:
        until(lambda: admin.topic_route(f"%RETRY%{group}"), "it is known", excused=(NotFound,))


def shared(found: dict[str, Any]) -> list[dict[str, Any]]:
    """What both kinds of broker tell of the disputes."""
    return [
        {key: value for key, value in dispute.items() if key != "since"}
        for dispute in found["disputes"]
    ]


@pytest.mark.parametrize(
    ("group", "members", "points"),
    [
        (
            "CheckTags",
            [Wishes({SENT: "a"}, BY_MEMBER_0), Wishes({SENT: "b"}, BY_MEMBER_1, 2)],
            [SENT],
        ),
        (
            "CheckOlder",
            [Wishes({SENT: "a"}, BY_MEMBER_0, 2), Wishes({SENT: "*"}, BY_MEMBER_1)],
            [SENT],
        ),
        ("CheckTopic", [Wishes({}), Wishes({SENT: "*"}, BY_MEMBER_0)], [SENT]),
        ("CheckGone", [Wishes({SENT: "*"}, BY_MEMBER_0), Wishes({})], [SENT]),
        (
            "CheckHow",
            [
                Wishes({SENT: "*"}, BY_MEMBER_0),
                Wishes(
                    {SENT: "*"},
                    BY_MEMBER_1,
                    how={
                        "consumeType": "CONSUME_ACTIVELY",
                        "messageModel": "BROADCASTING",
                        "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET",
                    },
                ),
            ],
            [None, None, None],
        ),
        ("CheckSame", [Wishes({SENT: "a || b"}), Wishes({SENT: "b || a"})], []),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_same_is_found(
    stage: AdminStage, group: str, members: list[Wishes], points: list[str | None]
) -> None:
    found: dict[str, dict[str, Any]] = {}
    for kind in KINDS:
        with ExitStack() as all_:
            joined(stage, kind, group, members, all_)
            code, found[kind] = check(stage, kind, group)
            assert code == (1 if points else 0)
    assert [one["topic"] for one in found["real"]["disputes"]] == points
    assert shared(found["real"]) == shared(found["trimq"])
    assert {one["since"] for one in found["real"]["disputes"]} <= {None}
    assert all(one["since"] for one in found["trimq"]["disputes"])
    assert found["real"]["overwrites"] is None
    assert isinstance(found["trimq"]["overwrites"], list)


def shares(admin: BlockingAdminClient) -> list[int]:
    """How many queues each member has."""
    with suppress(AdminError, TransportError):
        holders = admin.queue_holders(SPLIT)
        counts = Counter(one.client_id for queue, one in holders.items() if queue.topic == SPLIT)
        return sorted(counts.values())
    return []


@pytest.mark.parametrize("kind", KINDS)
def test_official_consumers_with_two_tags(stage: AdminStage, kind: str) -> None:
    with admin_of(stage.servers[kind]) as admin:
        # The second one may have come a moment ago.
        until(lambda: shares(admin) == [2, 2], "each member has two queues")
    code, found = check(stage, kind, SPLIT)
    assert code == 1
    (dispute,) = found["disputes"]
    assert (dispute["about"], dispute["topic"]) == ("topic", SPLIT)
    # A member whose queues change says its subscription anew: either may have come last.
    in_force = dispute["inForce"]
    opinions = {one["expression"]: one["inForce"] for one in dispute["opinions"]}
    assert opinions == {tag: tag == in_force for tag in ("TagA", "TagB")}
    other = "TagB" if in_force == "TagA" else "TagA"
    lost = sorted((one["tags"], len(one["queues"])) for one in dispute["losses"])
    assert lost == sorted([([other], 2), (["TagA", "TagB"], 2)])


@pytest.mark.parametrize("kind", KINDS)
def test_official_consumers_that_agree(stage: AdminStage, kind: str) -> None:
    assert check(stage, kind, MEMBER)[1]["agrees"]


def test_an_official_consumer_that_is_refused_disturbs_nobody(stage: AdminStage) -> None:
    group, server = "CheckStrict", stage.servers["trimq"]
    setting = "refuseInconsistentSubscription"
    with BlockingAdminClient(server.namesrv_addr) as admin:
        admin.update_broker_config(server.broker_addr, {setting: "true"})
        try:
            for tag in ("TagA", "TagB"):
                stage.official["trimq"].ask("consumer", server.namesrv_addr, group, SENT, tag)
            until(
                lambda: len({one for one in admin.queue_holders(group) if one.topic == SENT}) == 4,
                lambda: f"all queues are held: {admin.queue_holders(group)}",
            )
            found = admin.group_agreement(server.broker_addr, group)
        finally:
            admin.update_broker_config(server.broker_addr, {setting: "false"})
    (member,) = found.members
    assert found.agrees
    assert (member.subscriptions or {})[SENT].sub_string == "TagA"
