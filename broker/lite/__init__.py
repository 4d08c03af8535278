"""Lite topics: many small topics in one, each with its own light queue; consumed by POP, in order (5.5.0)."""
