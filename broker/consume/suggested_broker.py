"""Which broker of its name a consumer is to pull from next: a slave when it is far behind (slaveReadEnable).

A group that reads an elastic topic in order stays at the master, which knows its gates.

Hot: compiled by mypyc when a compiler is there.
"""

from trimq.broker.config import BrokerConfig
from trimq.broker.consume.outcomes import Pull
from trimq.codec.names import MASTER_ID
from trimq.store.reading.pulls import ReadResult


def suggested_broker(config: BrokerConfig, pull: Pull, found: ReadResult) -> int:
    """The broker id that the answer names."""
    if not config.slave_read_enable or pull.gated:
        return MASTER_ID
    group = pull.group
    return group.which_broker_when_consume_slowly if found.suggest_slave else group.broker_id
