"""The broker's settings, how it is doing, its counters, and questions passed on to consumers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from compat_tests.wire import frames, reading
from compat_tests.wire.asks import (
    ask,
    commit_offset,
    consumer,
    create_group,
    create_topic,
    heartbeat,
    pull,
    send,
    send_back,
    subscription,
    unregister,
)
from compat_tests.wire.case import Case, row
from compat_tests.wire.frames import RESPONSE_FLAG, Frame
from compat_tests.wire.reading import as_json, as_records, as_text
from compat_tests.wire.stage import Stage

UPDATE, CONFIG, RUNTIME, READ_AHEAD = 25, 26, 28, 2004
STATUS, RUNNING, DIRECT, COUNTER, PRODUCERS = 223, 307, 309, 315, 328
ONLINE: Final = heartbeat(consumer("$G", subscription()))
ASKED: Final = ask(
    RUNNING, {"consumerGroup": "$G", "clientId": "$C", "jstackEnable": True}, b"more"
)
# Settings that both have; ports, paths and what the machine decides are left out.
SETTING_NAMES: Final = """
    autoCreateSubscriptionGroup autoCreateTopicEnable brokerClusterName brokerId brokerIP1 brokerName
    brokerPermission brokerRole brokerTopicEnable channelExpiredTimeout cleanFileForciblyEnable
    cleanResourceInterval clearRetryTopicWhenDeleteTopic clusterTopicEnable compressedRegister
    consumerOffsetUpdateVersionStep defaultQueryMaxNum defaultTopicQueueNums
    delayOffsetUpdateVersionStep deleteCommitLogFilesInterval deleteConsumeQueueFilesInterval
    deleteFileBatchMax deleteWhen destroyMapedFileIntervalForcibly diskMaxUsedSpaceRatio
    diskSpaceCleanForciblyRatio diskSpaceWarningLevelRatio enableConsumeQueueExt enableCreateSysGroup
    enableMixedMessageType enablePropertyFilter enableRegisterProducer enableSingleTopicRegister
    enableSplitMetadata enableSplitRegistration fileReservedTime filterSupportRetry
    flushCommitLogLeastPages flushCommitLogThoroughInterval flushConsumerOffsetInterval flushDiskType
    flushIntervalCommitLog flushIntervalConsumeQueue forceRegister litePullMessageEnable
    longPollingEnable mappedFileSizeCommitLog mappedFileSizeConsumeQueue mappedFileSizeConsumeQueueExt
    mapperFileSizeBatchConsumeQueue maxFilterMessageSize maxHashSlotNum maxIndexNum maxMessageSize
    maxMsgsNumBatch maxTransferBytesOnMessageInDisk maxTransferBytesOnMessageInMemory
    maxTransferCountOnMessageInDisk maxTransferCountOnMessageInMemory messageDelayLevel
    messageIndexEnable messageIndexSafe msgTraceTopicName notifyConsumerIdsChangedEnable
    realTimeNotifyConsumerChange redeleteHangedFileInterval regionId registerBrokerTimeoutMills
    registerNameServerPeriod rejectPullConsumerEnable rejectTransactionMessage reviveQueueNum
    serverChannelMaxIdleTimeSeconds shortPollingTimeMills slaveReadEnable splitMetadataSize
    splitRegistrationSize startAcceptSendRequestTimeStamp syncFlushTimeout traceOn traceTopicEnable
    travelCqFileNumWhenGetMessage useServerSideResetOffset validateSystemTopicWhenUpdateTopic
"""
SETTINGS: Final = SETTING_NAMES.split()
UNHEARD: Final = {
    "no number": b"regionId=R\nshortPollingTimeMills=7x\n",
    "a number of 33 bits": b"regionId=R\nfileReservedTime=4294967296\n",
    "neither true nor false": b"regionId=R\ntraceOn=yes\n",
    "one of several unknown": b"regionId=R\nnonsense=1\n",
    "a black list over the network": b"regionId=R\nconfigBlackList=x\n",
}
RATE: Final = r"(\d+\.\d+(E-?\d+)?)?"
THREE_RATES: Final = f"{RATE} {RATE} {RATE}"
NUMBER: Final = r"-?\d+"
SIZE: Final = r"\d+ B|\d+\.\d [KMGT]iB"
# How a value looks; a key that is in none of them has the same value everywhere.
FORMS: Final = {
    r"(put|getFound|getMiss|getTotal|getTransferred)Tps": THREE_RATES,
    r"timer(Enqueue|Dequeue)Tps|put(Latency99|Latency999|MessageAverageSize)": r"\d+\.\d+",
    r"msg(Put|Get)Total\w+|timer\w+(Behind|Num)|\w+QueueSize|\w+WaitTimeMills": NUMBER,
    # Sends of other cases count too, and on a busy machine one of them may fail.
    r"putMessage(EntireTimeMax|TimesTotal|FailedTimes|SizeTotal)|getMessageEntireTimeMax": NUMBER,
    r"commitLog(Min|Max)Offset|bootTimestamp|earliestMessageTimeStamp|pageCacheLockTimeMills": NUMBER,
    r"dispatch\w+": NUMBER,
    r"(commitLog|consumeQueue)DiskRatio": r"[01]\.\d+",
    r"runtime": r"\[ \d+ days, \d+ hours, \d+ minutes, \d+ seconds \]",
    r"commitLogDirCapacity": f"Total : ({SIZE}), Free : ({SIZE})\\.",
    r"remainHowManyDataToFlush": SIZE,
    r"scheduleMessageOffset": r"\d+,\d+",
    r"putMessageDistributeTime": r"null|(\[\S+\]:\d+ )+",
}
SUM_KEYS: Final = ("sum", "avgpt")


def cases() -> Iterator[Case]:
    yield from counters()
    yield Case("runtime info", runtime_info)
    yield Case("settings: all", all_settings, alone=True)
    yield from updates()
    yield Case("settings: changed", changed_settings, alone=True)
    for what, body in UNHEARD.items():
        yield Case(f"settings: {what}", partial(unheard_setting, body=body), alone=True)
    yield from questions()
    yield from unanswered()
    yield Case("producers of every group", producers)
    for mode in (1, 0, 2, "x", None):
        yield row(f"read ahead: mode {mode}", ask(READ_AHEAD, {"READ_AHEAD_MODE": mode}))
    yield row("read ahead: another field", ask(READ_AHEAD, {"mode": 1}))


# --- how it is doing


def runtime_info(stage: Stage) -> None:
    for frame in (create_topic(), send(), send(properties="DELAY\x011\x02UNIQ_KEY\x01U1\x02")):
        stage.must(frame)
    # A level is listed once it has delivered.
    reply = stage.until(ask(RUNTIME), lambda reply: b"scheduleMessageOffset" in reply.body)
    table: dict[str, str] = as_json(reply.body)["value"]["table"]
    seen: dict[str, str] = {}
    for key, value in table.items():
        # The one key has the log's path in it, the other a delay level.
        plain = re.sub(r"_[/\d].*", "", key)
        seen[plain] = form_of(plain, value)
    stage.record("table", seen)
    stage.record("on the fast port", stage.ask(ask(RUNTIME), "fast").code)


def form_of(key: str, value: str) -> str:
    for keys, form in FORMS.items():
        if re.fullmatch(keys, key):
            return f"like {form}" if re.fullmatch(form, value) else value
    return value


def counters() -> Iterator[Case]:
    def play(stage: Stage) -> None:
        """Real counters are sampled every 10 s."""
        for frame in (create_topic(), create_group(), send(b"one"), send(b"two"), send(b"three")):
            stage.must(frame)
        stage.must(pull(maxMsgNums=2))
        reply = stage.must(send(b"four"))
        stage.must(send_back(int(reply.ext["msgId"][16:], 16)))
        for name, key in (
            ("TOPIC_PUT_NUMS", "$T"),
            ("TOPIC_PUT_SIZE", "$T"),
            ("GROUP_GET_NUMS", "$T@$G"),
            ("GROUP_GET_SIZE", "$T@$G"),
            ("SNDBCK_PUT_NUMS", "$T@$G"),
        ):
            question = ask(COUNTER, {"statsName": name, "statsKey": key})
            minute = stage.until(question, lambda reply: minute_of(reply)["sum"] > 0)
            seen = minute_of(minute)
            stage.record(name, {key: seen[key] for key in SUM_KEYS} | {"tps": seen["tps"] > 0})
        stats = as_json(stage.must(ask(202, {"topic": "$T"})).body)["value"]
        stage.record("rate of the topic", stats["topicPutTps"] > 0)
        stage.must(commit_offset(1))
        group = as_json(stage.must(ask(208, {"consumerGroup": "$G", "topic": "$T"})).body)["value"]
        stage.record("rate of the group", group["consumeTps"] > 0)
        stage.must(ask(215, {"topic": "$T"}))
        stage.show("deleted", ask(COUNTER, {"statsName": "TOPIC_PUT_NUMS", "statsKey": "$T"}))

    yield Case("counters: after ten seconds", play)
    for name in ("TOPIC_PUT_NUMS", "NONSENSE"):
        yield row(
            f"counters: {name} of nothing", ask(COUNTER, {"statsName": name, "statsKey": "$T"})
        )
    yield row("counters: without a key", ask(COUNTER, {"statsName": "TOPIC_PUT_NUMS"}))
    yield row("counters: no fields", ask(COUNTER))


def minute_of(reply: Frame) -> Any:
    return as_json(reply.body)["value"]["statsMinute"]


# --- settings


def settings_of(stage: Stage) -> dict[str, str]:
    lines = stage.must(ask(CONFIG)).body.decode().splitlines()
    return dict(line.split("=", 1) for line in lines)


def counter_of(stage: Stage) -> int:
    version = stage.must(ask(CONFIG)).ext["version"]
    return int(re.findall(r'"counter":(\d+)', version)[0])


def all_settings(stage: Stage) -> None:
    reply = stage.must(ask(CONFIG))
    stage.record("header", re.sub(r"\d+", "N", reply.ext["version"]))
    lines = reply.body.decode().split("\n")
    keys = [line.partition("=")[0] for line in lines[:-1]]
    stage.record("sorted, with a line end", keys == sorted(keys) and not lines[-1])
    found = settings_of(stage)
    stage.record("values", {key: found.get(key) for key in SETTINGS})
    stage.record("port", found["listenPort"] == stage.place.broker.rsplit(":", 1)[1])


def updates() -> Iterator[Case]:
    bodies = {
        "nothing": b"",
        "an unknown key": b"nonsense=1\n",
        "a key that is forbidden": b"brokerConfigPath=x\n",
        "another key that is forbidden": b"traceOn=true\nconfigBlackList=x\n",
        "no properties": b"a=\\uZZZZ\n",
    }
    for what, body in bodies.items():
        yield row(f"settings: update of {what}", ask(UPDATE, body=body))


def unheard_setting(stage: Stage, body: bytes) -> None:
    """The answer and what it changes, which is changed back."""
    before = settings_of(stage)
    stage.show("answer", ask(UPDATE, body=body))
    now = settings_of(stage)
    changed = {key: now[key] for key in SETTINGS if now[key] != before[key]}
    stage.record("changed", changed)
    back = "".join(f"{key}={before[key]}\n" for key in changed)
    stage.must(ask(UPDATE, body=back.encode()))


def changed_settings(stage: Stage) -> None:
    """Changes what is changed back at the end."""
    before = settings_of(stage)
    version = counter_of(stage)
    steps = {
        "a number": b"shortPollingTimeMills=7\n",
        "a number behind a colon": b"shortPollingTimeMills: 9\n",
        "false": b"traceOn=false\n",
        "TRUE": b"traceOn=TRUE\n",
        "a text": b"regionId = Some Region \n",
        "several": b"regionId=R\nfileReservedTime=71\n",
        "hours": b"deleteWhen=5;17\n",
    }
    for what, body in steps.items():
        stage.show(what, ask(UPDATE, body=body))
        now = settings_of(stage)
        stage.record(f"{what}: now", {key: now[key] for key in SETTINGS if now[key] != before[key]})
    stage.record("updates counted", counter_of(stage) - version)
    stage.must(create_topic(order=True))
    stage.show("in force: a message's region", send())
    stage.show("no writing", ask(UPDATE, body=b"brokerPermission=4\n"))
    stage.show("in force: refused", send())
    restored = [f"{key}={before[key]}" for key in SETTINGS if key not in ("brokerId", "brokerRole")]
    stage.show("back", ask(UPDATE, body="\n".join(restored).encode()))
    stage.record("as before", settings_of(stage) == before)
    stage.show("in force: accepted", send())


# --- questions to consumers


def next_question(stage: Stage) -> Frame:
    """What the server asks, past the notices."""
    while True:
        pushed = stage.link().pushed()
        if not pushed.is_oneway:
            return pushed


def answer(stage: Stage, question: Frame, **fields: Any) -> None:
    reply = Frame(opaque=question.opaque, flag=RESPONSE_FLAG, **{"code": 0, **fields})
    stage.link().write(frames.encode(reply))


def asked(stage: Stage, request: Frame, reader: reading.Reader, **fields: Any) -> None:
    """An operator asks on another connection; the consumer answers with `fields`."""
    opaque = stage.link("broker-2").post(stage.request(request))
    question = next_question(stage)
    stage.record("the question", reading.pushed(question, reader))
    answer(stage, question, **fields)
    reply = stage.link("broker-2").reply(opaque)
    stage.record("the answer", reading.reply(reply, as_text))


def questions() -> Iterator[Case]:
    def running(stage: Stage) -> None:
        stage.must(ONLINE)
        asked(stage, ASKED, as_text, body=b'{"jstack":"none"}')
        asked(stage, ASKED, as_text, code=1, remark="no time", ext={"some": "thing"})
        bare = ask(RUNNING, {"consumerGroup": "$G", "clientId": "$C"})
        asked(stage, bare, as_text, remark="nothing")

    yield Case("running info: passed on", running)

    def direct(stage: Stage) -> None:
        for frame in (create_topic(topicSysFlag=1), create_group(groupSysFlag=2), ONLINE):
            stage.must(frame)
        reply = stage.must(send(b"consume me"))
        fields = {"consumerGroup": "$G", "clientId": "$C", "msgId": reply.ext["msgId"]}
        seen = b'{"consumeResult":"CR_SUCCESS"}'
        asked(stage, ask(DIRECT, {**fields, "topic": "$T"}), as_records, body=seen)
        asked(stage, ask(DIRECT, fields), as_records, body=seen)
        other = {**fields, "topic": "no-$T", "brokerName": "x"}
        asked(stage, ask(DIRECT, other), as_records, body=seen)

    yield Case("direct consume: passed on", direct)

    def status(stage: Stage) -> None:
        for frame in (create_topic(), ONLINE):
            stage.must(frame)
        queue = '{"brokerName":"broker-a","queueId":1,"topic":"T"}'
        table = f'{{"consumerTable":{{}},"messageQueueTable":{{{queue}:5}}}}'.encode()
        every = ask(STATUS, {"group": "$G", "topic": "$T"})
        one = ask(STATUS, {"group": "$G", "topic": "$T", "clientAddr": "$C"})
        asked(stage, every, as_text, body=table)
        asked(stage, one, as_text, body=table)
        asked(stage, one, as_text, code=1, body=table)
        asked(stage, one, as_text)
        asked(stage, one, as_text, body=b"nonsense")
        other = ask(STATUS, {"group": "$G", "topic": "$T", "clientAddr": "nobody"})
        stage.show("nobody", other)

    yield Case("consume status: asked", status)


def unanswered() -> Iterator[Case]:
    yield row("running info: not online", ASKED)
    other = ask(RUNNING, {"consumerGroup": "$G", "clientId": "nobody"})
    yield row("running info: another client", other, before=[ONLINE])
    yield row("running info: no fields", ask(RUNNING))
    message = {"consumerGroup": "$G", "clientId": "$C", "topic": "$T"}
    ids = {"short": "00", "no hex": "x" * 32, "beyond the log": "7F000001000064A4" + "7" * 16}
    for what, name in ids.items():
        request = ask(DIRECT, {**message, "msgId": name})
        yield row(f"direct consume: message id {what}", request, before=[ONLINE])
    yield row("direct consume: no message id", ask(DIRECT, message), before=[ONLINE])
    yield row("direct consume: no fields", ask(DIRECT))
    nobody = ask(STATUS, {"group": "$G", "topic": "$T"})
    yield row("consume status: nobody online", nobody)
    yield row("consume status: no fields", ask(STATUS))


def producers(stage: Stage) -> None:
    def mine() -> Any:
        table = as_json(stage.must(ask(PRODUCERS)).body)["value"]["data"]
        return table.get(stage.fill("$P"), "not there")

    stage.record("before", mine())
    stage.must(heartbeat(producers=("$P",)))
    stage.record("online", mine())
    stage.must(unregister(producerGroup="$P"))
    stage.record("left", mine())
