"""What a test sees of a broker: messages, how far groups are, what waits; and the store as it was before a test."""
