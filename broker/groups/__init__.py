"""Consumer and producer groups: settings, members, what they agree on, locks, offsets. On the loop; never blocks."""
