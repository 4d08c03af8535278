"""What a broker knows: topics, groups, clients, offsets, locks, arrivals, delays."""
