"""Transactions: half messages, their ends, and the questions to producers."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import trio

from trimq.broker.config import BrokerConfig
from trimq.broker.elastic.maps import ElasticMaps
from trimq.broker.groups.clients.producers import Producers
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.services import background as services
from trimq.broker.topics.table import Topics
from trimq.broker.transactions.check_requests import CheckRequests
from trimq.broker.transactions.checking import Checking
from trimq.broker.transactions.discarded_halves import DiscardedHalves
from trimq.broker.transactions.ending import Ending
from trimq.broker.transactions.late_commits import LateCommits
from trimq.broker.transactions.metrics import TransactionMetrics
from trimq.broker.transactions.pending import PendingHalves
from trimq.broker.transactions.recovery import Positions
from trimq.broker.transactions.resuming import Resuming
from trimq.codec.names import TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC
from trimq.process.metrics import Sample
from trimq.processors._end_replies import EndReplies
from trimq.processors.transactions.end_transaction import EndTransaction
from trimq.processors.transactions.refuse_ends import RefuseEnds
from trimq.processors.transactions.resume_check_half_message import ResumeCheckHalfMessage
from trimq.remoting.contract import Processor
from trimq.wiring.context import Context
from trimq.wiring.part import Part
from trimq.wiring.parts.messaging.produce import Sends

# How old the positions in memory may become.
_KEEP_SECONDS = 1


@dataclass(frozen=True, slots=True)
class OpenTransactions:
    """Half messages whose transaction is open, and their figures."""

    pending: PendingHalves
    metrics: TransactionMetrics


def open_transactions(context: Context) -> OpenTransactions:
    metrics = TransactionMetrics(context.directory, context.clock)
    return OpenTransactions(PendingHalves(metrics.count), metrics)


def part(
    context: Context,
    transactions: OpenTransactions,
    sends: Sends,
    topics: Topics,
    offsets: ConsumerOffsets,
    producers: Producers,
    maps: ElasticMaps,
) -> Part:
    """Loaded after the offsets: half messages are read from there on."""
    config, store, clock, of_store = (
        context.config,
        context.store,
        context.clock,
        context.plan.store,
    )
    rules, staging = sends.rules, sends.staging
    pending, metrics = transactions.pending, transactions.metrics
    store.give_effect(TRANS_HALF_TOPIC, pending.half_written)
    store.give_effect(TRANS_OP_HALF_TOPIC, pending.op_written)
    ending = Ending(config, pending, staging, rules, topics, clock, maps)
    store.add_last_stager(ending.stage_op)
    questions = CheckRequests(producers, context.identity)
    checking = Checking(config, of_store, pending, staging, rules, topics, questions, clock)
    positions = Positions(store, offsets, pending, metrics)
    store.recovery_points.declare(positions.recovery_point)
    given_up = DiscardedHalves(store)
    resuming = Resuming(store, pending, rules, given_up)
    end: Processor[Any] = EndTransaction(
        EndReplies(ending, LateCommits(store, ending, given_up), store, of_store)
    )
    if context.plan.is_slave:
        end = RefuseEnds()
    return Part(
        name="transactions",
        processors=[
            end,
            ResumeCheckHalfMessage(resuming, store, of_store),
        ],
        master_services={
            "check half messages": checking.run,
            "keep transaction positions": partial(_keep, positions),
            "write transaction metrics": partial(_write, metrics, config),
        },
        load=positions.load,
        recover=positions.recover,
        decides=(TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC),
        close=metrics.close,
        due=None if context.plan.is_slave else checking.next_due,
        samples=partial(_samples, pending),
    )


async def _keep(positions: Positions) -> None:
    """The last time when the broker stops: offsets are written after that."""
    try:
        await services.every(_KEEP_SECONDS, positions.keep)
    finally:
        positions.keep()


async def _write(metrics: TransactionMetrics, config: BrokerConfig) -> None:
    while True:
        await trio.sleep(config.transaction_metric_flush_interval / 1000)
        await metrics.keep()


def _samples(pending: PendingHalves) -> Iterator[Sample]:
    yield Sample(
        "trimq_half_messages_pending",
        "Half messages whose transaction has not ended.",
        "gauge",
        len(pending),
    )
