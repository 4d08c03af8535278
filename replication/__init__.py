"""Copies of a log: the master's and the slave's end of the stream. Awaits; what blocks goes to threads."""
