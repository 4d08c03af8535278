"""Queue and consumer offsets."""
