"""Orderly POP: what blocks a queue for a group, and when it opens. On the loop; never blocks."""
