"""Plain queues: 20 bytes for every message (ConsumeQueue), with or without an extension (ConsumeQueueExt)."""
