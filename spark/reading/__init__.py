"""Reading queues: partitions, pulls, outages and losses. On executors, except for `batch` and `stream`."""
