"""Who gets which queue: assignment, locks of orderly consumption, and whether a group pulls or pops."""
