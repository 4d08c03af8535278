"""Which messages a subscription asks for. Values only; never blocks."""
