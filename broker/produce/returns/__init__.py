"""What comes of messages that were sent: they are sent back, replied to, or recalled."""
