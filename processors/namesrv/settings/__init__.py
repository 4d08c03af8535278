"""A NameServer's settings while it runs."""
