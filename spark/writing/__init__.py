"""Writing rows: messages, where they go, what became of them."""
