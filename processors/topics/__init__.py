"""Topics: created, changed, deleted, listed."""
