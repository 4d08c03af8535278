"""Other servers: NameServers that hear of this broker, and brokers that it asks. Awaits the network."""
