"""Sending: what stands between a message and the store. On the loop; never blocks."""
