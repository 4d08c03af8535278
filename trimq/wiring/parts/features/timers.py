"""Timer messages: the wheel that they wait on, and how they leave it."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from trimq.broker.elastic.maps import ElasticMaps
from trimq.broker.produce.puts.timer_copies import TimerPuts
from trimq.broker.timers.service import WheelTimers
from trimq.broker.topics.table import Topics
from trimq.process.metrics import Sample
from trimq.processors.timers.get_timer_check_point import GetTimerCheckPoint
from trimq.processors.timers.get_timer_metrics import GetTimerMetrics
from trimq.processors.timers.switch_timer_engine import SwitchTimerEngine
from trimq.remoting.contract import Processor
from trimq.wiring.context import Context
from trimq.wiring.part import Part
from trimq.wiring.parts.messaging.produce import Sends


def wheel_timers(context: Context) -> WheelTimers | None:
    """None for a broker that is started without a wheel (timerWheelEnable)."""
    config = context.plan.store
    return WheelTimers(config, context.store, context.clock) if config.timer_wheel_enable else None


def part(
    context: Context, timers: WheelTimers | None, sends: Sends, topics: Topics, maps: ElasticMaps
) -> Part:
    """Loaded after the topics: what is due is delivered to them."""
    processors: list[Processor[Any]] = [
        GetTimerCheckPoint(timers),
        GetTimerMetrics(timers),
        SwitchTimerEngine(context.plan.store, timers),
    ]
    if timers is None:
        return Part(name="timers", processors=processors)
    context.store.recovery_points.declare(timers.recovery_point)
    if context.plan.is_slave:
        timers.follow()
    timers.deliver_by(TimerPuts(sends.rules, topics, context.store, maps))
    return Part(
        name="timers",
        processors=processors,
        services={
            "put timer messages on the wheel": timers.feed,
            "flush the timer wheel": timers.keep_flushed,
        },
        master_services={"deliver timer messages": timers.deliver},
        load=timers.load,
        recover=timers.recover,
        close=timers.close,
        due=None if context.plan.is_slave else timers.next_due,
        samples=partial(_samples, timers),
    )


def _samples(timers: WheelTimers) -> Iterator[Sample]:
    yield Sample("trimq_timers_waiting", "Timer messages on the wheel.", "gauge", timers.waiting())
    yield Sample(
        "trimq_timers_unread",
        "Timer messages that are stored and not on the wheel yet.",
        "gauge",
        timers.unread(),
    )
    yield Sample(
        "trimq_timers_behind_seconds",
        "How far the next slot of the wheel lies in the past.",
        "gauge",
        timers.seconds_behind(),
    )
    yield Sample("trimq_timers_delivered", "Timer messages delivered.", "counter", timers.delivered)
    yield Sample(
        "trimq_timers_lost",
        "Timer messages whose commit-log file was deleted before their time.",
        "counter",
        timers.lost,
    )
    yield Sample(
        "trimq_timers_gone",
        "Timer messages that were no longer in the log when their time came.",
        "counter",
        timers.gone,
    )
    yield Sample(
        "trimq_timers_given_up",
        "Timer messages that no put may ever store, as their topic has changed.",
        "counter",
        timers.given_up,
    )
