"""Clients and their groups: who is connected, who reads what, and how far they are."""
