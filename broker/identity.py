"""Who this broker is, as NameServers, clients and stored records are told."""

from dataclasses import dataclass, field

from trimq.codec.records.addresses import pack_host


@dataclass(frozen=True, slots=True)
class BrokerIdentity:
    """Fixed when the listening sockets are bound. Addresses are ``host:port``.

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

    def __post_init__(self) -> None:
        # 8 bytes, or 20 for IPv6: the storeHost of every record (BrokerController.getStoreHost).
        object.__setattr__(self, "packed_store_host", pack_host(self.stored or self.address))

    @property
    def zone_fields(self) -> dict[str, str]:
        """The fields that tell NameServers this broker's zone; none unless it is configured."""
        fields = {"__ZONE_NAME": self.zone, "__ZONE_MODE": self.zone_mode}
        return {name: text for name, text in fields.items() if text.strip()}
