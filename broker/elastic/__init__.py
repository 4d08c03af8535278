"""Elastic ordered topics: fixed logical partitions, laid onto physical queues by version."""
