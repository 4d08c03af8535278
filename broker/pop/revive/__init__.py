"""Reviving: what nobody acknowledged in time is put back. On the loop."""
