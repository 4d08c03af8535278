"""What a master says of its slaves."""

import json
from typing import Any

from trimq.processors.replication.get_broker_ha_status import GetBrokerHaStatus
from trimq.store.messages.message import Message


def test_a_master_without_slaves(broker: Any) -> None:
    broker.store.put(Message("T", 0, b"x"))
    answer = broker.processor(GetBrokerHaStatus).handle(broker.request(907, None))
    status = json.loads(answer.body)
    assert (status["master"], status["haConnectionInfo"], status["inSyncSlaveNums"]) == (
        True,
        [],
        0,
    )
    assert status["masterCommitLogMaxOffset"] == broker.store.max_physical_offset > 0
