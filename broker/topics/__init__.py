"""Topics: which exist, how they are named, where a static one's queues are. On the loop; never blocks."""
