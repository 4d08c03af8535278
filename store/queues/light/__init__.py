"""Light queues (LMQ): entries for records of other topics."""
