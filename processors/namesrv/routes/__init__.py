"""Brokers that register, and where topics are found."""
