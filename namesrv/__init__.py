"""What a NameServer knows: routes and KV configuration."""
