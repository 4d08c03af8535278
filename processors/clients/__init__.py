"""Clients, groups and queue locks."""
