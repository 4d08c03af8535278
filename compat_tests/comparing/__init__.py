"""What of an outcome counts, and what the real server has shown before."""
