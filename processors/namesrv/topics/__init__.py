"""Lists of topics, and topics that are announced by others than brokers."""
