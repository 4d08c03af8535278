"""What an operator sees and changes while the broker runs."""
