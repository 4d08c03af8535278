"""Subscription groups: created, changed, deleted, listed; how their members are assigned queues."""
