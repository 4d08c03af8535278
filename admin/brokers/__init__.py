"""Operations on clusters, brokers and NameServers."""
