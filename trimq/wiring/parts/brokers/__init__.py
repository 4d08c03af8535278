"""Other servers: NameServers, a master or slaves, and the brokers of one supervisor."""
