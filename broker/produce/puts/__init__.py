"""Putting: the rules between a finished message and the store, and staged records. On the loop; never blocks."""
