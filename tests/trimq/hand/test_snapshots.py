"""The store as it was: snapshots, restoring, and a reset."""

import os
import time
from pathlib import Path

import pytest
import trio

from tests.requests import heartbeat, send_header
from tests.trimq.hand.conftest import Opens
from tests.trimq.hand.looking import Looking
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.flags import SysFlag
from trimq.codec.headers.namesrv import GetRouteInfoRequestHeader
from trimq.codec.records.properties import format_properties
from trimq.hand.looks.answers import Sent
from trimq.hand.looks.files import bring_back, delete, keep, move_away
from trimq.hand.operation import HandError
from trimq.remoting.clients.client import Client
from trimq.remoting.errors import PeerGone

HOUR = 3_600_000


def now_millis() -> int:
    return time.time_ns() // 1_000_000


async def fill(it: Looking) -> None:
    """Something of all that a store has."""
    await it.create("Orders")
    await it.create_group("G")
    await it.send("Orders", b"a")
    await it.send("Orders", b"b", KEYS="k")
    await it.commit("G", "Orders", 0, 1)
    await it.send("Orders", b"timer", UNIQ_KEY="t", TIMER_DELIVER_MS=str(now_millis() + HOUR))
    await it.send("Orders", b"level", UNIQ_KEY="l", DELAY="18")
    properties = {"TRAN_MSG": "true", "PGROUP": "P", "UNIQ_KEY": "h"}
    header = send_header(
        "Orders",
        sys_flag=SysFlag.PREPARED,
        born_timestamp=now_millis(),
        properties=format_properties(properties).decode(),
    )
    await it.request(RequestCode.SEND_MESSAGE, header, b"half")


async def state(it: Looking) -> dict[str, object]:
    """All that looks see of it, without what a start adds."""
    common = it.hand.broker.common
    return {
        "topics": sorted(common.messaging.topics.table.all()),
        "groups": sorted(common.readers.groups.all()),
        "offsets": {
            key: dict(queues)
            for key, queues in common.readers.offsets.committed.queues.items()
            if "CID_RMQ_SYS" not in key
        },
        "messages": {
            topic: await it.ask("looks/sent", topic=topic)
            for topic in ("Orders", "Later")
            if topic in common.messaging.topics.table
        },
        "timers": await it.ask("looks/pending_timers"),
        "halves": await it.ask("looks/half_messages"),
    }


async def test_a_restored_store_is_as_it_was(opens: Opens) -> None:
    async with opens() as it:
        await fill(it)
        before = await state(it)
        assert (await it.ask("store/snapshot"))["name"] == "s1"
        assert await state(it) == before
        for _ in range(2):
            await it.connect_again()
            await it.send("Orders", b"c")
            await it.send("Later", b"x", DELAY="17")
            await it.create_group("Other")
            await it.commit("G", "Orders", 0, 3)
            assert await state(it) != before
            assert (await it.ask("store/restore", name="s1"))["name"] == "s1"
            assert await state(it) == before


async def test_a_reset_leaves_nothing(opens: Opens) -> None:
    async with opens() as it:
        fresh = await state(it)
        told = []
        it.hand.on_reset.append(lambda: told.append(it.hand.is_attached))
        await fill(it)
        await it.request(RequestCode.HEART_BEAT, None, heartbeat(["Online"], topics=["Orders"]))
        await it.ask("store/reset")
        # While no broker is there.
        assert told == [False]
        assert await state(it) == fresh
        assert not it.hand.broker.common.readers.clients.consumers.groups()
        async with Client.connect(it.server.namesrv_addr) as client:
            header = GetRouteInfoRequestHeader(topic="Orders")
            route = await client.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
        assert route.code == ResponseCode.TOPIC_NOT_EXIST
        await it.connect_again()
        # Offsets begin anew, too.
        await it.send("Orders", b"new")
        sent = await it.get(Sent, "looks/sent", topic="Orders")
        assert [(one.offset, one.position, one.text) for one in sent.messages] == [(0, 0, "new")]


async def test_clients_find_it_on_the_same_port(opens: Opens) -> None:
    async with opens() as it:
        await it.send("Orders", b"a")
        await it.ask("store/snapshot")
        with pytest.raises(PeerGone):
            await it.send("Orders", b"b")
        await it.connect_again()
        await it.send("Orders", b"c")
        assert it.server.ready is not None
        assert (await it.server.ready()).ok


async def test_a_wait_outlives_a_restoring(opens: Opens) -> None:
    async with opens() as it:
        await it.ask("store/snapshot", name="empty")
        await it.connect_again()
        found: list[Sent] = []

        async def wait() -> None:
            found.append(await it.get(Sent, "looks/wait_for", topic="New", count=2, timeout="2m"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await it.send("New", b"lost")
            await it.ask("store/restore", name="empty")
            async with Client.connect(it.server.broker_addr) as it.client:
                await it.send("New", b"a")
                assert not found
                await it.send("New", b"b")
    assert [one.text for one in found[0].messages] == ["a", "b"]


async def test_names_of_snapshots(opens: Opens) -> None:
    async with opens() as it:
        with pytest.raises(HandError, match="no snapshot orders: there is none at all yet"):
            await it.ask("store/restore", name="orders")
        for name in ("Orders", "Orders", None, None):
            await it.ask("store/snapshot", **({} if name is None else {"name": name}))
        with pytest.raises(HandError, match="no snapshot orders: the nearest name is Orders"):
            await it.ask("store/restore", name="orders")
        with pytest.raises(HandError, match="no snapshot x: there are Orders, s1, s2"):
            await it.ask("store/restore", name="x")
        for bad in ("../x", "", "a,new", "x" * 101):
            with pytest.raises(HandError, match="a snapshot is named by"):
                await it.ask("store/snapshot", name=bad)


async def test_what_cannot_be_changed_is_said_and_the_broker_goes_on(
    opens: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opens() as it:
        await it.send("Orders", b"a")

        def full(*_: object) -> None:
            raise OSError("no room")

        monkeypatch.setattr("trimq.hand.looks.files.keep", full)
        with pytest.raises(HandError, match="could not be changed: no room"):
            await it.ask("store/snapshot")
        await it.connect_again()
        await it.send("Orders", b"b")
        assert (await it.get(Sent, "looks/sent", topic="Orders")).count == 2


async def test_a_log_elsewhere_is_not_kept(opens: Opens, tmp_path: Path) -> None:
    async with opens(storePathCommitLog=str(tmp_path / "elsewhere")) as it:
        with pytest.raises(
            HandError, match=r"not in its folder .* storePathCommitLog names .*else"
        ):
            await it.ask("store/snapshot")


def tree(folder: Path) -> dict[str, str | None]:
    """The text of each file; None of a folder."""
    return {
        str(one.relative_to(folder)): None if one.is_dir() else one.read_text()
        for one in folder.rglob("*")
    }


def test_a_copy_has_the_length_the_mode_and_the_holes(tmp_path: Path) -> None:
    source, kept, target = (tmp_path / name for name in ("source", "kept", "target"))
    (source / "sub").mkdir(parents=True)
    target.mkdir()
    long = source / "sub" / "long"
    with long.open("wb") as file:
        file.write(b"begin")
        file.seek(64 << 20)
        file.write(b"middle")
        file.truncate(1 << 30)
    long.chmod(0o600)
    keep(source, kept)
    bring_back(kept, target, tmp_path / "gone")
    copied = target / "sub" / "long"
    assert copied.stat().st_size == 1 << 30
    assert copied.stat().st_mode & 0o777 == 0o600
    assert copied.stat().st_blocks * 512 < 1 << 20
    with copied.open("rb") as file:
        assert file.read(6) == b"begin\0"
        file.seek(64 << 20)
        assert file.read(7) == b"middle\0"


def test_what_is_brought_back_is_what_was_kept(tmp_path: Path) -> None:
    """And nothing of what came since."""
    source, kept, gone = (tmp_path / name for name in ("source", "kept", "gone"))
    (source / "queues" / "A" / "0").mkdir(parents=True)
    (source / "empty").mkdir()
    (source / "queues" / "A" / "0" / "file").write_text("a")
    (source / "lock").write_text("x")
    before = tree(source)
    keep(source, kept, ("lock",))
    # A copy has no folders.
    assert [one.name for one in kept.iterdir() if one.is_dir()] == []
    (source / "queues" / "A" / "0" / "file").write_text("b")
    (source / "queues" / "A" / "0" / "later").write_text("b")
    (source / "queues" / "B").mkdir()
    (source / "queues" / "B" / "lock").write_text("b")
    (source / "empty").rmdir()
    (source / "empty").write_text("b")
    (source / "lock").write_text("y")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "theirs").write_text("t")
    (source / "link").symlink_to(elsewhere)
    bring_back(kept, source, gone, ("lock",))
    assert tree(source) == {**before, "lock": "y"}
    # Behind a link are others' files.
    assert tree(elsewhere) == {"theirs": "t"}
    delete(gone)
    assert not gone.exists()
    assert tree(elsewhere) == {"theirs": "t"}


def test_a_folder_is_emptied(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "file").touch()
    (tmp_path / "stays").touch()
    move_away(tmp_path, tmp_path / "kept" / "gone", ("stays", "kept"))
    assert sorted(os.listdir(tmp_path)) == ["kept", "stays"]
    assert (tmp_path / "kept" / "gone" / "sub" / "file").exists()
