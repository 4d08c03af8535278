"""Store directories that one server wrote and the other one opens."""
