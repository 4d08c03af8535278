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


def test_replies_that_wait_for_slaves_are_a_figure(broker: Any) -> None:
    found = {one.name: one.value for one in broker.parts.samples()}
    assert found["trimq_replication_replies_waiting"] == 0
    assert "trimq_replication_astray" not in found
