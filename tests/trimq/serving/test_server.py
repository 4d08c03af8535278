"""A whole server in this process: starts, says where it is, answers, stops, starts again."""

import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
import trio
import trustme

import trimq
from compat_tests.servers.processes import free_port
from tests.layers import LAYERS
from tests.patience import PATIENCE
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.namesrv import GetRouteInfoRequestHeader
from trimq.remoting.clients.blocking import BlockingClient
from trimq.remoting.clients.client import Client
from trimq.remoting.tls.contexts import client_context
from trimq.settings.endpoints import AddressError, Endpoint
from trimq.settings.listening import listen
from trimq.settings.parsing import SettingsError
from trimq.store.config import StoreConfig
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message
from trimq.testing import running_server


async def test_serve_answers_on_both_ports_and_leaves_no_abort_file(tmp_path: Path) -> None:
    async with trimq.serve(tmp_path) as server:
        async with Client.connect(server.namesrv_addr) as client:
            header = GetRouteInfoRequestHeader(topic="TBW102")
            route = await client.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
        assert route.code == ResponseCode.SUCCESS
        assert server.broker_addr.encode() in bytes(route.body)
        async with Client.connect(server.broker_addr) as client:
            topics = await client.request(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER)
        assert topics.code == ResponseCode.SUCCESS
        assert (tmp_path / "abort").exists()
    assert not (tmp_path / "abort").exists()
    assert (tmp_path / "config" / "topics.json").exists()


async def test_a_broker_registers_with_the_namesrv_that_is_named(tmp_path: Path) -> None:
    async with (
        trimq.serve(tmp_path / "a") as first,
        trimq.serve(
            tmp_path / "b", namesrv=first.namesrv_addr, settings={"brokerName": "second"}
        ) as second,
        Client.connect(first.namesrv_addr) as client,
    ):
        clusters = await client.request(RequestCode.GET_BROKER_CLUSTER_INFO)
        assert second.namesrv_addr == first.namesrv_addr
        assert b'"second"' in bytes(clusters.body)


async def test_one_store_is_opened_once(tmp_path: Path) -> None:
    async with trimq.serve(tmp_path):
        with pytest.raises(StoreError):
            async with trimq.serve(tmp_path):
                pass


async def test_a_taken_port_and_a_bad_setting_are_plain_errors(tmp_path: Path) -> None:
    with listen(Endpoint("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(AddressError, match="is in use"):
            async with trimq.serve(tmp_path, listen=address):
                pass
    with pytest.raises(SettingsError, match="flushDiskType=MAYBE"):
        async with trimq.serve(tmp_path, settings={"flushDiskType": "MAYBE"}):
            pass


async def test_an_error_in_the_users_block_is_not_swallowed(tmp_path: Path) -> None:
    with pytest.RaisesGroup(ZeroDivisionError, allow_unwrapped=True, flatten_subgroups=True):
        async with trimq.serve(tmp_path):
            raise ZeroDivisionError
    assert not (tmp_path / "abort").exists()


def test_running_server_works_from_blocking_code() -> None:
    with running_server() as server:
        store = server.store
        with BlockingClient(server.namesrv_addr) as client:
            answer = client.request(RequestCode.GET_BROKER_CLUSTER_INFO)
        assert answer.code == ResponseCode.SUCCESS
        assert store.exists()
    assert not store.exists()


def test_running_server_says_why_it_could_not_start(tmp_path: Path) -> None:
    with (
        pytest.raises(SettingsError, match="must be true or false"),
        running_server(tmp_path, {"autoCreateTopicEnable": "perhaps"}),
    ):
        pass


async def test_a_server_that_enforces_tls_finds_its_own_name_server(tmp_path: Path) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    chain, key = tmp_path / "server.pem", tmp_path / "server.key"
    certificate.cert_chain_pems[0].write_to_path(chain)
    certificate.private_key_pem.write_to_path(key)
    settings = {
        "tls.server.mode": "enforcing",
        "tls.server.certPath": str(chain),
        "tls.server.keyPath": str(key),
    }
    async with (
        trimq.serve(tmp_path / "store", settings=settings) as server,
        Client.connect(server.namesrv_addr, client_context()) as client,
    ):
        header = GetRouteInfoRequestHeader(topic="TBW102")
        route = await client.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
    assert route.code == ResponseCode.SUCCESS


def test_folders_of_the_users_with_our_layers_names_hide_nothing(tmp_path: Path) -> None:
    for name in LAYERS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('the user's own')")
    code = "import sys; sys.path.insert(0, sys.argv[1]); import trimq.serving.server, trimq.mqadmin.cli"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)


async def test_pending_messages_of_another_broker_refuse_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with trimq.serve(tmp_path):
        pass
    store = MessageStore(StoreConfig(root=tmp_path), lambda: 1)
    store.open()
    store.put(Message("RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC", 0, b"half"))
    store.close()
    with pytest.raises(StoreError, match="1 half message whose transaction RocksDB knows about"):
        async with trimq.serve(tmp_path):
            pass
    # It was closed in order: whoever opens it next finds it as it was.
    assert not (tmp_path / "abort").exists()
    async with trimq.serve(tmp_path, settings={"leavePendingMessages": "true"}):
        pass
    assert "1 half message whose transaction RocksDB" in caplog.text


async def test_nobody_can_connect_before_the_store_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients turn to another broker at once; on a connection that nobody serves they would wait."""
    endpoint = Endpoint("127.0.0.1", free_port())
    opening, may_go_on = threading.Event(), threading.Event()
    opened = MessageStore.open

    def slow(store: MessageStore, types: Mapping[str, str]) -> object:
        opening.set()
        assert may_go_on.wait(PATIENCE)
        return opened(store, types)

    monkeypatch.setattr(MessageStore, "open", slow)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_try_ports, endpoint, opening, may_go_on)
        async with (
            trimq.serve(tmp_path, listen=str(endpoint)) as server,
            Client.connect(server.broker_addr) as client,
        ):
            topics = await client.request(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER)
        assert topics.code == ResponseCode.SUCCESS


async def _try_ports(
    endpoint: Endpoint, opening: threading.Event, may_go_on: threading.Event
) -> None:
    try:
        assert await trio.to_thread.run_sync(opening.wait, PATIENCE)
        for port in (endpoint.port, endpoint.port - 2, endpoint.port + 1):
            with trio.socket.socket() as sock, pytest.raises(ConnectionRefusedError):
                await sock.connect((endpoint.host, port))
    finally:
        may_go_on.set()
