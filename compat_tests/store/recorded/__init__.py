"""Stores that the real broker 5.5.0 wrote, kept with what it answered about them."""
