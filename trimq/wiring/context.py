"""What every part of a broker may be built from, besides what other parts give it."""

from dataclasses import dataclass
from pathlib import Path

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.identity import BrokerIdentity
from trimq.settings.options import ServerPlan
from trimq.store.message_store import MessageStore


@dataclass(frozen=True, slots=True)
class Context:
    """A broker before it has any part: its settings, its identity, its store and its clock."""

    plan: ServerPlan
    identity: BrokerIdentity
    store: MessageStore
    clock: Clock
    # Where the clock is in the hand of a test: that of the machine. None: they are one.
    machine: Clock | None = None

    @property
    def real_clock(self) -> Clock:
        """By which clients and other servers live and expire, and figures are counted."""
        return self.machine or self.clock

    @property
    def config(self) -> BrokerConfig:
        return self.plan.broker

    @property
    def directory(self) -> Path:
        """Where tables have their files."""
        return self.plan.store.root / "config"
