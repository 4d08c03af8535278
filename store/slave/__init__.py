"""The log of another broker, taken over byte by byte, and the queues that follow it. May block; never awaits."""
