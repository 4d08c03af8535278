"""Deleting what is too old, when an operator asks for it."""
