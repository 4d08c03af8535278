"""How a client reaches a server: addresses, TLS, access keys, and what operations ask through."""
