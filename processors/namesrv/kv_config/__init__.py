"""Key-value configuration, which clients keep in NameServers."""
