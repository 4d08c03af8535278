"""The cases, grouped by what they are about."""
