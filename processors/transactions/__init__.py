"""Transactions: their ends, and half messages that are taken up again."""
