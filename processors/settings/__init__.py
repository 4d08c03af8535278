"""A broker's settings while it runs."""
