"""A pull through the entries of a queue, and its filter. On the loop."""
