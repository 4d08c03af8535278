"""Bytes between socket and frames: streams, the poller, the outbox, preambles. On the loop; one task a connection."""
