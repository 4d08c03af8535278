"""The other brokers of one supervisor: they get what this one creates by itself."""

from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.services.siblings import Siblings
from trimq.broker.topics.table import Topics
from trimq.process.tls import name_server_context
from trimq.wiring.context import Context
from trimq.wiring.part import Part


def siblings(context: Context) -> Siblings | None:
    """None for a broker on its own."""
    return Siblings(name_server_context(context.plan.tls)) if context.plan.supervised else None


def part(made: Siblings | None, topics: Topics, groups: SubscriptionGroups) -> Part:
    if made is None:
        return Part(name="siblings")
    topics.on_created = made.topic_created
    groups.on_created = made.group_created
    return Part(name="siblings", services={"tell siblings what is new": made.run})
