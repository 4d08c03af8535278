"""Transactions: half messages that wait for their end, ENDs, and the questions to producers.

On the event loop; only `recovery` blocks, before the loop runs.
"""
