"""Whether clients find this broker and it takes what they send: what ``/readyz`` says."""

from typing import Final

from trimq.broker.cluster.registration import Registration
from trimq.broker.identity import BrokerIdentity
from trimq.process.probes import Verdict
from trimq.store.message_store import MessageStore

STARTING: Final = "the broker is still starting"
STOPPING: Final = "the broker is stopping"
_SERVING: Final = ""


class Readiness:
    """Of a broker whose role is in its settings, and so is known from the start."""

    def __init__(
        self, identity: BrokerIdentity, role: str, store: MessageStore, registration: Registration
    ) -> None:
        self._identity = identity
        self._role = role
        self._store = store
        self._registration = registration
        self._phase = STARTING

    def serves(self) -> None:
        """From now on, as the ready line says."""
        self._phase = _SERVING

    def stops(self) -> None:
        """From now on: it takes itself off its NameServers."""
        self._phase = STOPPING

    async def verdict(self) -> Verdict:
        if self._phase == STOPPING:
            return Verdict("", [STOPPING])
        why = [self._phase] if self._phase else []
        why += self._store_troubles()
        why += [f"not registered with {one}" for one in self._registration.missing]
        return Verdict(self._said(), why)

    def _store_troubles(self) -> list[str]:
        store = self._store
        if store.cleaning.disk_full:
            return [f"the disk is full, and messages are refused: {store.cleaning.use}"]
        if not store.writable:
            return [
                "the store takes no messages: it is not open, or a sync of its commit log has failed"
            ]
        return []

    def _said(self) -> str:
        identity = self._identity
        servers = ", ".join(self._registration.registered_with()) or "no NameServer"
        who = f"{self._role} {identity.name} with id {identity.broker_id}"
        return f"{who}, registered with {servers}"
