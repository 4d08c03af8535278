"""Figures: messages and bytes by topic and group, and what the broker says about itself."""

from dataclasses import dataclass
from functools import partial

from trimq.broker.delivery.delays import DelayService
from trimq.broker.services import background as services
from trimq.broker.stats.broker_stats import PERIODS, BrokerStats
from trimq.broker.stats.put_times import PutTimes
from trimq.broker.stats.store_stats import StoreFigures
from trimq.broker.stats.traffic import Traffic
from trimq.broker.timers.interface import Timers
from trimq.broker.timers.runtime_info import TimerFigures
from trimq.broker.topics.table import Topics
from trimq.processors.stats.get_broker_runtime_info import GetBrokerRuntimeInfo
from trimq.processors.stats.view_broker_stats_data import ViewBrokerStatsData
from trimq.store.messages.message import Dispatched
from trimq.wiring.context import Context
from trimq.wiring.part import Part


@dataclass(frozen=True, slots=True)
class Figures:
    """``traffic`` is counted, ``stats`` are made of samples of it."""

    traffic: Traffic
    stats: BrokerStats


def figures_of(context: Context, topics: Topics) -> Figures:
    folds_light = context.plan.store.enable_lmq and not context.config.enable_lmq_stats
    traffic = Traffic(topics.is_system_topic, folds_light)
    return Figures(
        traffic, BrokerStats(context.config.broker_cluster_name, traffic, context.real_clock)
    )


def part(context: Context, figures: Figures, delays: DelayService, timers: Timers | None) -> Part:
    stats = figures.stats
    timer_figures = TimerFigures(context.plan.store, timers)
    of_store = StoreFigures(context.config, context.plan.store, context.store)
    store, put_times = context.store, PutTimes()

    def stored(messages: list[Dispatched]) -> None:
        put_times.add(store.last_write_millis, len(messages))
        figures.traffic.stored(messages)

    return Part(
        name="stats",
        processors=[
            GetBrokerRuntimeInfo(stats, put_times, of_store, delays, timer_figures, context.clock),
            ViewBrokerStatsData(stats),
        ],
        services={
            "tick statistics": partial(services.every, 1, stats.tick),
            "turn the minute of puts": partial(services.every, 60, put_times.turn),
            **{
                f"sample statistics every {period.millis // 1000} s": partial(
                    services.every_async, period.millis / 1000, partial(stats.sample, period)
                )
                for period in PERIODS
            },
        },
        stored=stored,
    )
