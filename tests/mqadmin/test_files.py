"""Files that commands leave: what a producer or a client named, and what lies where they are to go."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.mqadmin.messages import NUMBERS
from tests.run.mqadmin import run_mqadmin
from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.messages import sending
from trimq.admin.messages.message import Message
from trimq.admin.messages.sending import NewMessage
from trimq.codec.bodies.clients import Connection, ConsumerConnection
from trimq.codec.bodies.queue_tables import ConsumerRunningInfo
from trimq.mqadmin.commands import consumer_status
from trimq.mqadmin.files import writing as files
from trimq.mqadmin.files.writing import is_plain_name, write_file
from trimq.mqadmin.framework import Run
from trimq.mqadmin.output import Output
from trimq.mqadmin.text import messages as message_text
from trimq.mqadmin.text.messages import MessageText
from trimq.testing import TestServer


def run(server: TestServer, *words: str) -> subprocess.CompletedProcess[str]:
    return run_mqadmin(*words, NAMESRV_ADDR=server.namesrv_addr)


@pytest.fixture
def tools_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands for /tmp/rocketmq; its parent for the folder that is everybody's."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    monkeypatch.setattr(files, "TOOLS_FOLDER", shared / "rocketmq")
    return shared / "rocketmq"


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "../../etc/passwd",
        "..",
        "",
        ".bashrc",
        "-rf",
        "a/b",
        "a\0b",
        "a\nb",
        "a\x1b[2Jb",
        "x" * 300,
    ],
)
def test_names_that_are_not_ids(name: str) -> None:
    assert not is_plain_name(name)


def test_ids_are_names() -> None:
    assert is_plain_name("7F000001000A18B4AAC2123456780000")
    assert is_plain_name("127.0.0.1@4711#5")


class NobodyConsumes:
    """A client of a cluster in which nobody consumes the message."""

    def message_tracks(self, message: Message) -> list[object]:
        return []


def _shown(message: Message, out: Path | None) -> Run:
    made = Run(NobodyConsumes(), Output(False))  # type: ignore[arg-type]
    MessageText(made, message, out).by_unique_key(0)
    return made


def message(unique_id: str, body: bytes = b"body") -> Message:
    return Message(
        topic="T",
        born_host="127.0.0.1:1",
        store_host="127.0.0.1:2",
        offset_id="7F00000100002A9F0000000000000000",
        properties={"UNIQ_KEY": unique_id},
        body=body,
        **NUMBERS,
    )


@pytest.mark.parametrize("is_absolute", [True, False])
def test_a_producer_does_not_choose_where_bodies_go(
    tmp_path: Path, is_absolute: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = tmp_path / "authorized_keys"
    victim.write_text("mine")
    name = str(victim) if is_absolute else "../authorized_keys"
    shown = _shown(message(name, b"theirs"), tmp_path / "bodies")
    assert victim.read_text() == "mine"
    assert not shown.partly_failed
    (file,) = (tmp_path / "bodies").iterdir()
    assert (file.name, file.read_bytes()) == ("7F00000100002A9F0000000000000000", b"theirs")
    assert file.stat().st_mode & 0o777 == 0o600
    assert f"Message Body Path:   {file}\n" in capsys.readouterr().out


def test_the_same_message_is_looked_at_twice(tmp_path: Path) -> None:
    for _ in range(2):
        assert not _shown(message("id"), tmp_path).partly_failed
    assert [file.name for file in tmp_path.iterdir()] == ["id"]


def test_another_file_of_that_name_stays(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("all:")
    assert not _shown(message("Makefile", b"theirs"), tmp_path).partly_failed
    assert (tmp_path / "Makefile").read_text() == "all:"
    assert (tmp_path / "7F00000100002A9F0000000000000000").read_bytes() == b"theirs"
    again = _shown(message("Makefile", b"other"), tmp_path)
    assert again.partly_failed
    assert (tmp_path / "7F00000100002A9F0000000000000000").read_bytes() == b"theirs"


def test_a_link_in_place_of_a_body_is_not_followed(tmp_path: Path) -> None:
    victim, folder = tmp_path / "victim", tmp_path / "bodies"
    victim.write_text("mine")
    folder.mkdir()
    (folder / "id").symlink_to(victim)
    assert not _shown(message("id", b"theirs"), folder).partly_failed
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("depth", [0, 1])
def test_a_link_in_place_of_a_folder_is_not_followed(
    tools_folder: Path, tmp_path: Path, depth: int
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if depth:
        tools_folder.mkdir()
    (tools_folder if depth == 0 else tools_folder / "msgbodys").symlink_to(elsewhere)
    with pytest.raises(OSError, match=r"directory|symbolic"):
        write_file(tools_folder / "msgbodys", "id", b"body")
    assert not list(elsewhere.iterdir())


def test_a_folder_that_others_write_to_is_refused(tools_folder: Path) -> None:
    tools_folder.mkdir()
    tools_folder.chmod(0o777)
    with pytest.raises(PermissionError, match="others can write to 'rocketmq'"):
        write_file(tools_folder / "msgbodys", "id", b"body")
    tools_folder.chmod(0o755)
    assert write_file(tools_folder / "msgbodys", "id", b"body").read_bytes() == b"body"


def test_the_default_folder_is_the_official_tools() -> None:
    assert str(message_text.BODIES) == "/tmp/rocketmq/msgbodys"


def test_what_replaces_a_file_follows_no_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "T-1.before").symlink_to(victim)
    (tmp_path / "T-2.before").hardlink_to(victim)
    os.mkfifo(tmp_path / "T-3.before")
    for number in (1, 2, 3):
        with pytest.raises(OSError, match=r"regular file|symbolic|No such device"):
            write_file(tmp_path, f"T-{number}.before", b"{}", replace=True)
    assert victim.read_text() == "mine"
    with pytest.raises(OSError, match="a path, not a name"):
        write_file(tmp_path, "../T-4.before", b"{}", replace=True)
    for body in (b"{}", b"[1]"):
        assert write_file(tmp_path, "T-5.before", body, replace=True).read_bytes() == body


def test_mappings_follow_no_link(server: TestServer, tmp_path: Path) -> None:
    done = run(
        server,
        "updateStaticTopic",
        "-b",
        "broker-a",
        "-t",
        "St",
        "-qn",
        "1",
        "--out",
        str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    written = {file.name.rsplit(".", 1)[1]: file for file in tmp_path.iterdir()}
    assert set(written) == {"before", "after"}
    assert {file.stat().st_mode & 0o777 for file in written.values()} == {0o600}


def test_a_body_of_a_hostile_producer(
    server: TestServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = tmp_path / "victim"
    monkeypatch.setattr(sending, "new_message_id", lambda: str(victim))
    with BlockingAdminClient(server.namesrv_addr) as admin:
        sent = admin.send(NewMessage(topic="Hostile", body=b"theirs"))
    for command in (
        ["queryMsgById", "-i", sent.offset_id],
        ["queryMsgByUniqueKey", "-i", str(victim)],
    ):
        folder = tmp_path / command[0]
        done = run(server, *command, "-t", "Hostile", "--out", str(folder))
        assert (done.returncode, done.stderr) == (0, "")
        assert [file.read_bytes() for file in folder.iterdir()] == [b"theirs"]
    assert not victim.exists()


class HostileClients:
    """A client of a cluster in which members of a group chose these ids."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def now(self) -> int:
        return 1

    def consumer_connection(self, group: str, addr: str | None) -> ConsumerConnection:
        clients = [Connection(client_id=name) for name in self.names]
        return ConsumerConnection(connection_set=clients)

    def running_info(self, group: str, client_id: str, stacks: bool) -> ConsumerRunningInfo:
        return ConsumerRunningInfo()


def test_accounts_of_clients_stay_in_their_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("127.0.0.1@4711", "../escaped", str(tmp_path / "absolute"), ".bashrc", "a\x1b[2Jb")
    made = Run(HostileClients(*names), Output(False))  # type: ignore[arg-type]
    for out in (None, tmp_path / "chosen"):
        connection = made.admin.consumer_connection("G", None)
        consumer_status.show_clients(made, "G", connection, with_stacks=False, out=out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "chosen"]
    for folder in ("1", "chosen"):
        written = sorted(path.name for path in (tmp_path / folder).iterdir())
        assert written == ["127.0.0.1@4711", "client-2", "client-3", "client-4", "client-5"]
