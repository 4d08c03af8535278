"""When the tables of topics and groups are written."""

from trimq.broker.cluster.registration import Registration
from trimq.broker.tables.writer import TableWriter
from trimq.wiring.part import Part


def part(tables: TableWriter, registration: Registration) -> Part:
    tables.hold_replies_with(registration.held_replies)
    return Part(
        name="tables",
        services={"write tables": tables.run},
        end_of_receive=tables.end_of_receive,
    )
