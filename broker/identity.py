"""Who this broker is, as NameServers, clients and stored records are told."""

from dataclasses import dataclass, field
from typing import Final

from trimq.codec.records.addresses import pack_host

# Former addresses that are remembered.
_REMEMBERED: Final = 8


@dataclass(slots=True)
class BrokerIdentity:
    """Known when the listening sockets are bound. Addresses are ``host:port``.

    Only the registration tells others that ``name`` and ``address`` are new ones: whoever needs them asks here each
    time. Everything else stays, as in RocketMQ: the address in records and message ids, and the one for slaves.

    ``stored`` is the address with the host as an IP address, for records; empty: `address` has one.
    ``zone`` and ``zone_mode`` go with every request to NameServers (DynamicalExtFieldRPCHook).
    """

    cluster: str
    name: str
    broker_id: int
    address: str
    ha_address: str
    stored: str = ""
    zone: str = ""
    zone_mode: str = ""
    packed_store_host: bytes = field(init=False)
    # Where NameServers may still think this broker is.
    former_addresses: tuple[str, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        # 8 bytes, or 20 for IPv6: the storeHost of every record (BrokerController.getStoreHost).
        self.packed_store_host = pack_host(self.stored or self.address)

    @property
    def host(self) -> str:
        return self.address.rpartition(":")[0]

    def change(self, name: str = "", host: str = "", port: int = 0) -> None:
        """Another name or address from now on; what is not given stays."""
        former_host, _, former_port = self.address.rpartition(":")
        if ":" in host:
            host = f"[{host}]"
        address = f"{host or former_host}:{port or former_port}"
        if address != self.address:
            self.former_addresses = (*self.former_addresses, self.address)[-_REMEMBERED:]
        self.name, self.address = name or self.name, address

    @property
    def zone_fields(self) -> dict[str, str]:
        """The fields that tell NameServers this broker's zone; none unless it is configured."""
        fields = {"__ZONE_NAME": self.zone, "__ZONE_MODE": self.zone_mode}
        return {name: text for name, text in fields.items() if text.strip()}
