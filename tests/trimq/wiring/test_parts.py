"""A part's life in a server, and the order of those that a broker has."""

import urllib.request
from pathlib import Path
from typing import Any, cast

import pytest
import trio

import trimq
from docs.request_codes import broker_and_namesrv
from tests.patience import until_in_trio
from tests.requests import send_header
from trimq.admin.client import AdminClient
from trimq.admin.messages.sending import NewMessage
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.process.metrics import Sample
from trimq.remoting.clients.client import Client
from trimq.remoting.contract import Peer, Processor, Request, Response
from trimq.store.message_store import MessageStore
from trimq.wiring import broker as broker_wiring
from trimq.wiring.part import Part, Parts

CODE, ON_THE_MAIN_PORT_ONLY = 30001, 30002


class Says(Processor[None]):
    def __init__(self, code: int, text: bytes) -> None:
        self.codes = (code,)
        self._text = text

    def handle(self, request: Request[None]) -> Response:
        return Response(body=self._text)


class Feature:
    """A part that has one of everything and writes down what becomes of it."""

    def __init__(self) -> None:
        self.life: list[str] = []

    def part(self) -> Part:
        def note(what: str) -> Any:
            return lambda *_: self.life.append(what)

        return Part(
            name="feature",
            processors=[Says(CODE, b"everywhere")],
            main_port_only=[Says(ON_THE_MAIN_PORT_ONLY, b"here")],
            services={"be there": self.run},
            load=note("loaded"),
            written=note("written"),
            stored=note("stored"),
            connections=self,
            end_of_receive=note("received"),
            heed_settings=note("settings changed"),
            close=note("closed"),
            samples=lambda: [Sample("trimq_feature", "What it says.", "gauge", 7)],
        )

    async def run(self) -> None:
        self.life.append("started")
        try:
            await trio.sleep_forever()
        finally:
            self.life.append("stopped")

    def opened(self, peer: Peer) -> None:
        self.life.append("opened")

    def closed(self, peer: Peer) -> None:
        self.life.append("gone")


@pytest.fixture
def feature(monkeypatch: pytest.MonkeyPatch) -> Feature:
    """One more line in the list of a broker's parts."""
    feature, parts = Feature(), broker_wiring.broker_parts
    monkeypatch.setattr(
        broker_wiring,
        "broker_parts",
        lambda given, common: [*parts(given, common), feature.part()],
    )
    return feature


async def test_a_line_in_the_list_is_all_that_a_part_needs(
    tmp_path: Path, feature: Feature
) -> None:
    async with trimq.serve(tmp_path, settings={"metricsListen": "127.0.0.1:0"}) as server:
        # Files are read before anybody is served.
        assert feature.life[0] == "loaded"
        assert "started" in feature.life
        async with Client.connect(server.broker_addr) as client:
            assert (await client.request(CODE)).body == b"everywhere"
            assert (await client.request(ON_THE_MAIN_PORT_ONLY)).body == b"here"
            assert {"opened", "received"} <= set(feature.life)
            changed = await client.request(
                RequestCode.UPDATE_BROKER_CONFIG, body=b"brokerPermission=6\n"
            )
            assert (changed.code, changed.remark) == (ResponseCode.SUCCESS, None)
        assert "settings changed" in feature.life
        async with Client.connect(vip(server.broker_addr)) as client:
            assert (await client.request(CODE)).body == b"everywhere"
            refused = await client.request(ON_THE_MAIN_PORT_ONLY)
            assert refused.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
        assert "stored" not in feature.life
        async with AdminClient.connect(server.namesrv_addr) as admin:
            await admin.send(NewMessage(topic="T", body=b"x"))
        assert "stored" in feature.life
        assert server.metrics_addr is not None
        figures = await trio.to_thread.run_sync(scrape, server.metrics_addr)
        assert "trimq_feature 7.0" in figures
        assert "closed" not in feature.life
    assert feature.life.count("opened") == feature.life.count("gone") > 0
    # Files are written when nothing runs any more.
    assert feature.life[-2:] == ["stopped", "closed"]


async def test_who_waits_for_what_is_cut_off_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what comes in its place is not taken for it."""
    stores: list[MessageStore] = []
    parts = broker_wiring.broker_parts

    def noting(given: Any, common: Any) -> list[Part]:
        stores.append(given.store)
        return parts(given, common)

    monkeypatch.setattr(broker_wiring, "broker_parts", noting)
    settings = {"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2", "slaveTimeout": "60000"}
    header = send_header("TBW102", default_topic_queue_nums=1)
    codes: list[int] = []
    async with trimq.serve(tmp_path, settings=settings) as server:
        [store] = stores
        async with Client.connect(server.broker_addr) as client, trio.open_nursery() as nursery:

            async def send() -> None:
                answer = await client.request(RequestCode.SEND_MESSAGE, header, b"x", timeout=50)
                codes.append(answer.code)

            nursery.start_soon(send)
            await until_in_trio(lambda: store.max_physical_offset)
            assert codes == []
            store.cut(0)
        assert codes == [ResponseCode.FLUSH_SLAVE_TIMEOUT]


def scrape(address: str) -> str:
    with urllib.request.urlopen(f"http://{address}/metrics") as answer:
        return str(answer.read().decode())


def vip(address: str) -> str:
    host, _, port = address.rpartition(":")
    return f"{host}:{int(port) - 2}"


def test_the_order_of_a_brokers_parts() -> None:
    """What names something is loaded after it, and written after it.

    Tables reach their files before the messages of the same receive. A pull that waits is woken
    before the message is counted.
    """
    broker, _ = broker_and_namesrv()

    def having(what: str) -> list[str]:
        return [part.name for part in broker if getattr(part, what) is not None]

    before = ["topics", "groups", "filters", "offsets", "transactions"]
    behind = ["delays", "timers", "pop", "compaction"]
    # Elastic topics are in the log alone.
    assert having("load") == [*before, "elastic", *behind]
    assert having("close") == [*before, *behind]
    assert having("before_cut") == ["pop"]
    assert having("recover") == ["offsets", "transactions", "elastic", "timers", "compaction"]
    assert having("stored") == ["consume", "elastic", "delays", "pop", "lite", "stats"]
    assert having("end_of_receive") == ["tables", "log"]


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def two(said: list[str]) -> Parts:
    def part(name: str) -> Part:
        def note(what: str) -> Any:
            return lambda *_: said.append(f"{what} {name}")

        return Part(
            name=name,
            load=note("load"),
            before_cut=note("prepare"),
            recover=note("recover"),
            written=note("write"),
            stored=note("store"),
            end_of_receive=note("end"),
            heed_settings=note("heed"),
            close=note("close"),
            samples=lambda: [Sample(name, "", "gauge", 0)],
        )

    return Parts([part("a"), Part(name="between"), part("b")])


class Listened:
    """What a store is given to tell."""

    def __init__(self) -> None:
        self.listeners: list[Any] = []
        self.write_listeners: list[Any] = []
        self.add_listener = self.listeners.append
        self.add_write_listener = self.write_listeners.append


def test_everything_happens_in_the_order_of_the_list(two: Parts, said: list[str]) -> None:
    store = Listened()
    two.load()
    two.listen_to(cast(MessageStore, store))
    for listener in store.write_listeners:
        listener()
    for listener in store.listeners:
        listener([])
    two.end_of_receive()
    two.heed_settings()
    two.before_cut(0)
    two.recover(0)
    two.close()
    expected = [
        f"{what} {name}"
        for what in ("load", "write", "store", "end", "heed", "prepare", "recover", "close")
        for name in "ab"
    ]
    assert said == expected
    assert [sample.name for sample in two.samples()] == ["a", "b"]


def test_a_part_that_cannot_be_written_keeps_no_other_from_it() -> None:
    written = []

    def fail() -> None:
        raise OSError("no room")

    parts = Parts([Part(name="a", close=fail), Part(name="b", close=lambda: written.append("b"))])
    with pytest.raises(OSError, match="no room"):
        parts.close()
    assert written == ["b"]


@pytest.mark.parametrize(
    ("second", "told"),
    [
        (Part(name="a"), "two parts have the part 'a'"),
        (Part(name="b", services={"s": trio.sleep_forever}), "two parts have the service 's'"),
    ],
)
def test_a_name_is_used_once(second: Part, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Parts([Part(name="a", services={"s": trio.sleep_forever}), second])
