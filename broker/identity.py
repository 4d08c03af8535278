"""Who this broker is, as NameServers, clients and stored records are told."""

from dataclasses import dataclass, field

from trimq.codec.addresses import pack_host

MASTER_ID = 0


@dataclass(frozen=True, slots=True)
class BrokerIdentity:
    """Fixed when the listening sockets are bound. Addresses are ``ip:port``."""

    cluster: str
    name: str
    broker_id: int
    address: str
    ha_address: str
    packed_store_host: bytes = field(init=False)

    def __post_init__(self) -> None:
        # 8 bytes, or 20 for IPv6: the storeHost of every record (BrokerController.getStoreHost).
        object.__setattr__(self, "packed_store_host", pack_host(self.address))
