"""Planning against servers that are away, forget, hang up or have nothing: outages are not losses."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark.sql.streaming.datasource")

from pyspark.sql.streaming.datasource import ReadAllAvailable

from tests.spark.serving import running
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RESPONSE_BIT, RemotingCommand
from trimq.remoting.errors import TransportError
from trimq.spark.errors import DataLost, SparkSourceError
from trimq.spark.options.parsing import read_options
from trimq.spark.options.positions import QueueKey
from trimq.spark.planning.cluster import Cluster
from trimq.spark.planning.ranges import begun, ranges
from trimq.spark.planning.routes import NoNameServer, Routes
from trimq.spark.planning.server_requests import Question, ServerRequests
from trimq.spark.planning.stream_watch import Watch
from trimq.spark.progress import GroupProgress
from trimq.spark.queues import QueueEnds
from trimq.spark.reading import outages
from trimq.spark.reading.outages import Away
from trimq.spark.reading.stream import RocketMQStreamReader

NOWHERE = "127.0.0.1:1"
KEYS: list[QueueKey] = [("T", "a", 0), ("T", "a", 1)]
Reply = Callable[[RemotingCommand], RemotingCommand | None]


class Server:
    """Answers by request code; what it has no answer for does not exist."""

    def __init__(self, **replies: Reply) -> None:
        self.replies = replies
        self.asked: list[int] = []

    def answer(self, request: RemotingCommand) -> RemotingCommand | None:
        self.asked.append(request.code)
        reply = self.replies.get(RequestCode(request.code).name)
        return code(ResponseCode.TOPIC_NOT_EXIST)(request) if reply is None else reply(request)


def code(number: int, body: Any = None) -> Reply:
    data = b"" if body is None else json.dumps(body).encode()
    return lambda request: RemotingCommand(number, request.opaque, RESPONSE_BIT, "why", {}, data)


def ok(body: Any = None) -> Reply:
    return code(ResponseCode.SUCCESS, body)


def route(addr: str, queues: int = 2, perm: int = 6, broker_id: str = "0") -> Reply:
    broker = {"brokerName": "a", "cluster": "C", "brokerAddrs": {broker_id: addr}}
    data = {
        "brokerName": "a",
        "readQueueNums": queues,
        "writeQueueNums": queues,
        "perm": perm,
        "topicSysFlag": 0,
    }
    return ok({"brokerDatas": [broker], "queueDatas": [data], "filterServerTable": {}})


def registered(**addrs: str) -> Reply:
    brokers = {
        name: {"brokerName": name, "cluster": "C", "brokerAddrs": {"0": addr}}
        for name, addr in addrs.items()
    }
    return ok({"brokerAddrTable": brokers, "clusterAddrTable": {"C": list(addrs)}})


def stats(queues: int = 2, end: int = 9) -> Reply:
    table = {
        json.dumps({"brokerName": "a", "queueId": n, "topic": "T"}): {
            "minOffset": 0,
            "maxOffset": end,
            "lastUpdateTimestamp": 0,
        }
        for n in range(queues)
    }
    return ok({"offsetTable": table})


class Two:
    """A NameServer and a broker, and how they are asked."""

    def __init__(self, names: str, namesrv: Server, addr: str, broker: Server) -> None:
        self.names, self.namesrv, self.addr, self.broker = names, namesrv, addr, broker
        namesrv.replies |= {
            "GET_ROUTEINFO_BY_TOPIC": route(addr),
            "GET_BROKER_CLUSTER_INFO": registered(a=addr),
        }
        broker.replies |= {"GET_TOPIC_STATS_INFO": stats()}

    def options(self, **more: str) -> Any:
        return read_options({"namesrv": self.names, "topic": "T", "timeoutMs": "2000", **more})

    def cluster(self, **more: str) -> Cluster:
        return Cluster(self.options(**more).connection)


@pytest.fixture
def two() -> Iterator[Two]:
    namesrv, broker = Server(), Server()
    with ExitStack() as stack:
        yield Two(
            stack.enter_context(running(namesrv)),
            namesrv,
            stack.enter_context(running(broker)),
            broker,
        )


def test_a_look_is_one_question_for_a_topic_and_server(two: Two) -> None:
    with two.cluster() as cluster:
        view = cluster.look(["T"], KEYS, ["T"]).complete()
    assert view.bounds == {key: QueueEnds(0, 9, two.addr) for key in KEYS}
    assert view.masters == {("T", "a"): two.addr}
    assert two.namesrv.asked == [RequestCode.GET_ROUTEINFO_BY_TOPIC]
    assert two.broker.asked == [RequestCode.GET_TOPIC_STATS_INFO]


def test_a_missing_route_is_not_a_deletion_while_the_broker_is_not_registered(two: Two) -> None:
    del two.namesrv.replies["GET_ROUTEINFO_BY_TOPIC"]
    two.namesrv.replies["GET_BROKER_CLUSTER_INFO"] = registered()
    with two.cluster() as cluster:
        view = cluster.look(["T"], KEYS, ["T"])
    assert (view.waits, view.gone, view.bounds) == (set(KEYS), {}, {})
    assert str(view.outage()) == f"broker 'a' is not registered with {two.names}"


def test_a_broker_without_a_route_is_asked_itself(two: Two) -> None:
    """A NameServer that was started again may know the broker before its topics."""
    del two.namesrv.replies["GET_ROUTEINFO_BY_TOPIC"]
    with two.cluster() as cluster:
        assert cluster.look(["T"], KEYS, ["T"]).complete().bounds.keys() == set(KEYS)
        del two.broker.replies["GET_TOPIC_STATS_INFO"]
        view = cluster.look(["T"], KEYS, ["T"])
    assert (view.waits, view.away) == (set(), {})
    assert view.gone == dict.fromkeys(KEYS, "its broker does not have the topic any more")


def test_a_queue_that_its_broker_does_not_have_is_gone(two: Two) -> None:
    two.broker.replies["GET_TOPIC_STATS_INFO"] = stats(1)
    with two.cluster() as cluster:
        view = cluster.look(["T"], KEYS)
    assert view.gone == {KEYS[1]: "the queue does not exist any more"}
    assert view.bounds.keys() == {KEYS[0]}


@pytest.mark.parametrize(
    ("end", "known", "said"),
    [
        (9, 9, None),
        (9, 5, "the queue does not exist any more, and 4 messages of it have not been read"),
        # Deleted, and made again with fewer queues.
        (0, 9, "the queue does not exist any more"),
        (None, 9, "the queue does not exist any more"),
    ],
)
def test_only_what_was_unread_is_lost_with_a_queue(
    two: Two, end: int | None, known: int, said: str | None
) -> None:
    two.broker.replies["GET_TOPIC_STATS_INFO"] = stats(1)
    if end is not None:
        two.broker.replies["GET_MAX_OFFSET"] = lambda request: RemotingCommand(
            0, request.opaque, RESPONSE_BIT, None, {"offset": str(end)}
        )
    watch = Watch(two.options())
    try:
        if said is None:
            assert watch.now({KEYS[0]: 9, KEYS[1]: known}).bounds.keys() == {KEYS[0]}
        else:
            with pytest.raises(DataLost, match=f"queue 1: {said}\\. Option"):
                watch.now({KEYS[0]: 9, KEYS[1]: known})
    finally:
        watch.close()


def test_a_topic_that_no_broker_has_is_an_error_at_once(two: Two) -> None:
    del two.namesrv.replies["GET_ROUTEINFO_BY_TOPIC"]
    two.namesrv.replies["GET_ALL_TOPIC_LIST_FROM_NAMESERVER"] = ok({"topicList": ["Orders", "X"]})
    text = "^topic 'Ordres' does not exist: .* knows no broker that has it; did you mean 'Orders'.$"
    with two.cluster() as cluster, pytest.raises(SparkSourceError, match=text):
        cluster.look(["Ordres"], (), ["Ordres"])


@pytest.mark.parametrize("silent", [False, True])
def test_while_nobody_can_say_a_topic_may_come_back(two: Two, silent: bool) -> None:
    """No broker is registered, since the only one starts again; or a NameServer does not answer."""
    del two.namesrv.replies["GET_ROUTEINFO_BY_TOPIC"]
    if silent:
        two.names += ";127.0.0.1:1"
    else:
        two.namesrv.replies["GET_BROKER_CLUSTER_INFO"] = registered()
    with two.cluster() as cluster:
        view = cluster.look(["U"], (), ["U"])
    assert str(view.outage()).startswith("topic 'U' does not exist: ")


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (code(ResponseCode.SYSTEM_BUSY), "is busy"),
        (lambda _: None, "is away: .* ended the connection"),
    ],
)
def test_a_broker_that_does_not_answer_is_away(two: Two, reply: Reply, why: str) -> None:
    two.broker.replies["GET_TOPIC_STATS_INFO"] = reply
    with two.cluster() as cluster:
        view = cluster.look(["T"], KEYS, ["T"])
    assert view.waits == set(KEYS)
    with pytest.raises(Away, match=f"broker 'a' {why}"):
        view.complete()


def test_a_topic_that_may_not_be_read_now_is_not_gone(two: Two) -> None:
    two.namesrv.replies["GET_ROUTEINFO_BY_TOPIC"] = route(two.addr, perm=2)
    with two.cluster() as cluster:
        view = cluster.look(["T"], KEYS)
        assert str(view.outage()) == "topic 'T' on broker 'a' may not be read now"
        # A job that begins has nothing to read there, and nothing to wait for.
        assert cluster.look(["T"], (), ["T"]).complete().bounds == {}


def test_a_slave_that_is_behind_loses_nothing(two: Two) -> None:
    two.namesrv.replies["GET_ROUTEINFO_BY_TOPIC"] = route(two.addr, broker_id="1")
    with two.cluster() as cluster:
        view = cluster.look(["T"], KEYS)
    ends = dict.fromkeys(KEYS, 20)
    for fail in (True, False):
        with pytest.raises(Away, match=r"the slave at .* is behind it"):
            ranges({}, ends, view.bounds, fail)
        with pytest.raises(Away, match="its slave may be behind it"):
            begun(ends, ends, view.bounds, fail)
    # The master says what is lost.
    with pytest.raises(DataLost):
        begun(ends, ends, {key: QueueEnds(0, 9, "x") for key in KEYS}, True)


def test_routes_hold_while_no_name_server_answers(
    two: Two, caplog: pytest.LogCaptureFixture
) -> None:
    with Asking(two) as server_requests:
        routes = Routes(two.names, server_requests)
        known = routes.of(["T"])
        two.namesrv.replies["GET_ROUTEINFO_BY_TOPIC"] = lambda _: None
        for _ in range(3):
            assert routes.of(["T"]) == known
        with pytest.raises(NoNameServer, match="check option 'namesrv'"):
            routes.of(["T", "Other"])
        two.namesrv.replies["GET_ROUTEINFO_BY_TOPIC"] = route(two.addr)
        assert routes.of(["T"]) == known
    assert caplog.text.count("going on with the routes that are known") == 1
    assert caplog.text.count("answers again") == 1


def test_what_one_name_server_does_not_know_another_is_asked(two: Two) -> None:
    with running(Server()) as forgetful, Asking(two) as server_requests:
        names = f"{NOWHERE};{forgetful};{two.names}"
        routes = Routes(names, server_requests)
        assert routes.of(["T"])["T"].broker_datas[0].broker_name == "a"
        del two.namesrv.replies["GET_ROUTEINFO_BY_TOPIC"]
        assert routes.of(["T"]) == {}


def test_a_pattern_without_a_broker_waits_for_one(two: Two) -> None:
    namesrv = two.namesrv.replies
    namesrv["GET_ALL_TOPIC_LIST_FROM_NAMESERVER"] = ok(
        {"topicList": ["a", "C", "Some", "%RETRY%G"]}
    )
    namesrv["GET_BROKER_CLUSTER_INFO"] = registered()
    options = two.options(topic="", topicPattern="T.*")
    with two.cluster() as cluster:
        with pytest.raises(Away, match="no broker is registered with"):
            cluster.topics(options)
        namesrv["GET_BROKER_CLUSTER_INFO"] = registered(a=two.addr)
        assert cluster.topics(options) == []
        every = two.options(topic="", topicPattern=".*")
        assert cluster.topics(every) == ["Some"]
        namesrv["GET_ALL_TOPIC_LIST_FROM_NAMESERVER"] = lambda _: None
        assert cluster.topics(every) == ["Some"]
    with two.cluster() as cluster, pytest.raises(NoNameServer):
        cluster.topics(every)


def test_a_broker_that_registers_between_two_questions_is_waited_for(two: Two) -> None:
    """It has told nothing when the route is asked for, and everything when the next question comes."""
    namesrv = two.namesrv.replies
    del namesrv["GET_ROUTEINFO_BY_TOPIC"]
    namesrv["GET_BROKER_CLUSTER_INFO"] = registered(a=two.addr)
    namesrv["GET_ALL_TOPIC_LIST_FROM_NAMESERVER"] = ok({"topicList": ["a", "C", "T"]})
    with two.cluster() as cluster:
        outage = cluster.look(["T"], (), ["T"]).outage()
        assert "knows no broker that has it" in str(outage)
        namesrv["GET_ALL_TOPIC_LIST_FROM_NAMESERVER"] = ok({"topicList": ["a", "C", "Ts"]})
        with pytest.raises(SparkSourceError, match="did you mean 'Ts'"):
            cluster.look(["T"], (), ["T"])


def test_a_broker_that_registers_while_a_pattern_is_matched_is_not_passed_over(two: Two) -> None:
    namesrv = two.namesrv.replies
    known = {"topics": ok({"topicList": []}), "brokers": registered()}

    def asked(what: str) -> Reply:
        def reply(request: RemotingCommand) -> RemotingCommand | None:
            answer = known[what](request)
            known.update(topics=ok({"topicList": ["a", "C", "T"]}), brokers=registered(a=two.addr))
            return answer

        return reply

    namesrv["GET_ALL_TOPIC_LIST_FROM_NAMESERVER"] = asked("topics")
    namesrv["GET_BROKER_CLUSTER_INFO"] = asked("brokers")
    options = two.options(topic="", topicPattern="T.*")
    with two.cluster() as cluster:
        with pytest.raises(Away, match="no broker is registered with"):
            cluster.topics(options)
        assert cluster.topics(options) == ["T"]


class Asking:
    """Askers that are closed at the end."""

    def __init__(self, two: Two) -> None:
        self._server_requests = ServerRequests(two.options().connection)

    def __enter__(self) -> ServerRequests:
        return self._server_requests

    def __exit__(self, *_: object) -> None:
        self._server_requests.close()


def test_more_questions_than_fit_under_way(two: Two) -> None:
    with Asking(two) as server_requests:
        answers = server_requests.ask(two.addr, [Question(RequestCode.GET_TOPIC_STATS_INFO)] * 1000)
        assert {one.code for one in answers} == {ResponseCode.SUCCESS}
        assert len(answers) == 1000
        found = server_requests.ask_all({two.addr: [Question(RequestCode.HEART_BEAT)], NOWHERE: []})
        assert isinstance(found[NOWHERE], TransportError)
        assert not isinstance(found[two.addr], TransportError)


def test_a_connection_that_was_quiet_for_too_long_is_not_an_outage(two: Two) -> None:
    """A server ends it: the next question goes over a new one."""
    question = [Question(RequestCode.HEART_BEAT)]
    with Asking(two) as server_requests:
        server_requests.ask(two.addr, question)
        two.broker.replies["HEART_BEAT"] = lambda _: None
        with pytest.raises(TransportError):
            server_requests.ask(two.addr, question)
        two.broker.replies["HEART_BEAT"] = hung_up_once()
        server_requests.ask(two.addr, [Question(RequestCode.GET_TOPIC_STATS_INFO)])
        assert server_requests.ask(two.addr, question)[0].code == ResponseCode.SUCCESS


def hung_up_once() -> Reply:
    calls: list[int] = []

    def reply(request: RemotingCommand) -> RemotingCommand | None:
        calls.append(1)
        return None if len(calls) == 1 else ok()(request)

    return reply


def test_a_watch_tells_an_outage_once_and_rests(two: Two, caplog: pytest.LogCaptureFixture) -> None:
    slept: list[float] = []
    watch = Watch(two.options(), slept.append)
    try:
        assert watch.now(KEYS).bounds.keys() == set(KEYS)
        watch.rest()
        assert slept == []
        two.broker.replies["GET_TOPIC_STATS_INFO"] = code(ResponseCode.SYSTEM_BUSY)
        for _ in range(10):
            assert watch.now(KEYS).waits == set(KEYS)
            watch.rest()
        assert slept == sorted(slept)
        assert slept[-1] == 1
        assert sum(slept) > 8
        two.namesrv.replies["GET_ROUTEINFO_BY_TOPIC"] = code(ResponseCode.SYSTEM_BUSY)
        assert "GET_ROUTEINFO_BY_TOPIC" in watch.now(KEYS).away["servers"]
        two.namesrv.replies["GET_ROUTEINFO_BY_TOPIC"] = route(two.addr)
        two.broker.replies["GET_TOPIC_STATS_INFO"] = stats()
        assert watch.now(KEYS).waits == set()
    finally:
        watch.close()
    assert len(caplog.records) == 2


@pytest.mark.parametrize("fail", ["true", "false"])
def test_a_watch_gives_up_in_the_end(two: Two, fail: str) -> None:
    two.broker.replies["GET_TOPIC_STATS_INFO"] = code(ResponseCode.SYSTEM_BUSY)
    watch = Watch(two.options(outageTimeoutMs="0", failOnDataLoss=fail))
    try:
        with pytest.raises(SparkSourceError, match="looking for new messages: broker 'a' is busy"):
            watch.now(KEYS)
        with pytest.raises(SparkSourceError, match="planning a batch: broker 'a' is busy"):
            watch.batch(KEYS, lambda view: view)
    finally:
        watch.close()


def test_queues_that_the_options_do_not_mean_any_more_are_not_asked_for(two: Two) -> None:
    watch = Watch(two.options(outageTimeoutMs="0"))
    try:
        assert watch.now([*KEYS, ("Old", "b", 0)]).bounds.keys() == set(KEYS)
    finally:
        watch.close()


def test_progress_that_a_broker_does_not_accept_is_reported_once(
    two: Two, caplog: pytest.LogCaptureFixture
) -> None:
    clock = [0.0]
    masters = {("T", "a"): two.addr}
    names = ("HEART_BEAT", "UPDATE_CONSUMER_OFFSET", "UNREGISTER_CLIENT")
    two.broker.replies |= {name: ok() for name in names}
    with Asking(two) as server_requests, caplog.at_level(logging.WARNING):
        progress = GroupProgress(server_requests, "G", lambda: clock[0])
        progress.commit(dict.fromkeys(KEYS, 1), masters)
        progress.commit(dict.fromkeys(KEYS, 1), masters)
        update, beat = RequestCode.UPDATE_CONSUMER_OFFSET, RequestCode.HEART_BEAT
        leave = RequestCode.UNREGISTER_CLIENT
        assert two.broker.asked == [beat, update, update, leave]
        two.broker.replies["UPDATE_CONSUMER_OFFSET"] = code(ResponseCode.SYSTEM_BUSY)
        for moment in range(20):
            clock[0] = moment
            progress.commit(dict.fromkeys(KEYS, 2), masters)
        assert two.broker.asked.count(update) == 2 + 4 * 2
        two.broker.replies["UPDATE_CONSUMER_OFFSET"] = ok()
        clock[0] = 30
        progress.commit(dict.fromkeys(KEYS, 2), masters)
        progress.commit(dict.fromkeys(KEYS, 2), {})
        assert two.broker.asked.count(update) == 2 + 5 * 2
    assert caplog.text.count("the progress of group 'G' is not written") == 1


def both(a: str, b: str) -> Reply:
    """A route with two queues on either broker; without an address a broker is not in it."""
    addrs = {name: addr for name, addr in (("a", a), ("b", b)) if addr}
    brokers = [
        {"brokerName": name, "cluster": "C", "brokerAddrs": {"0": addr}}
        for name, addr in addrs.items()
    ]
    queues = [
        {"brokerName": name, "readQueueNums": 2, "writeQueueNums": 2, "perm": 6, "topicSysFlag": 0}
        for name in addrs
    ]
    return ok({"brokerDatas": brokers, "queueDatas": queues, "filterServerTable": {}})


def offsets(a: int, b: int) -> dict[str, Any]:
    return {"T": {"a": {"0": a, "1": a}, "b": {"0": b, "1": b}}}


@pytest.mark.parametrize("fail", ["true", "false"])
def test_a_query_goes_on_with_the_brokers_that_are_there(two: Two, fail: str) -> None:
    namesrv = two.namesrv.replies
    namesrv["GET_ROUTEINFO_BY_TOPIC"] = both(two.addr, "")
    reader = RocketMQStreamReader(two.options(failOnDataLoss=fail), ["body"])
    try:
        start = {"version": 1, "queues": offsets(4, 5)}
        end = reader.latestOffset(start, ReadAllAvailable())
        assert end["queues"] == offsets(9, 5)
        parts = reader.partitions(start, end)
        assert sum(one.count for part in parts for one in part.parts) == 2 * 5
        latest = reader.reportLatestOffset()
        assert latest is not None
        assert latest["away"] == {"broker 'b'": f"is not registered with {two.names}"}
    finally:
        reader.stop()


def test_a_query_that_reads_once_waits_for_what_it_knows(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a broker that is away when it begins nothing says that it is, but the checkpoint."""
    namesrv = two.namesrv.replies
    namesrv["GET_ROUTEINFO_BY_TOPIC"] = both(two.addr, "")
    reader = RocketMQStreamReader(two.options(), ["body"])
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            namesrv["GET_ROUTEINFO_BY_TOPIC"] = both(two.addr, two.addr)

    monkeypatch.setattr(outages.time, "sleep", pause)
    try:
        reader.prepareForTriggerAvailableNow()
        start = {"version": 1, "queues": offsets(9, 5)}
        end = reader.latestOffset(start, ReadAllAvailable())
        assert end["queues"] == offsets(9, 9)
        assert len(pauses) == 3
        assert reader.latestOffset(end, ReadAllAvailable()) is end
    finally:
        reader.stop()
