"""Messages that are delivered later."""

from trimq.broker.delivery.delays import DelayService
from trimq.broker.elastic.maps import ElasticMaps
from trimq.broker.stats.traffic import Traffic
from trimq.processors.delays.get_all_delay_offset import GetAllDelayOffset
from trimq.wiring.context import Context
from trimq.wiring.part import Part


def delay_service(context: Context) -> DelayService:
    levels = context.plan.store.delay_levels
    return DelayService(context.config, context.store, levels, context.directory, context.clock)


def part(delays: DelayService, maps: ElasticMaps, traffic: Traffic) -> Part:
    delays.place = maps.place
    delays.counted = traffic.scheduled
    return Part(
        name="delays",
        processors=[GetAllDelayOffset(delays)],
        master_services={"deliver delayed messages": delays.run},
        load=delays.load,
        stored=delays.arrived,
        close=delays.close,
        due=delays.next_due,
    )
