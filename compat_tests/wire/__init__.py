"""The raw wire driver: hand-made frames against a NameServer and a broker."""
