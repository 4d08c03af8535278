"""What the official proxy answers and asks, call by call, and what ours does."""
