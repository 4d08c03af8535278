"""Logs: lines, formats, and the thread that writes them."""
