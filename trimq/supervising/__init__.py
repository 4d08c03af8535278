"""Several brokers on the cores of one host, each in a process of its own (`trimq server --brokers N`). Awaits."""
