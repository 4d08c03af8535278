"""What masters and slaves ask each other, answered by a master without slaves."""

from trimq.processors.replication.get_broker_ha_status import GetBrokerHaStatus
from trimq.processors.replication.reset_master_flush_offset import ResetMasterFlushOffset
from trimq.wiring.given import Given
from trimq.wiring.part import Part


def part(given: Given) -> Part:
    return Part(
        name="replication",
        processors=[GetBrokerHaStatus(given.store), ResetMasterFlushOffset()],
    )
