"""Messages that are delivered later: delay levels. On the loop, as a service."""
