"""NameServers and brokers that belong together: routes, registrations, static topics."""
