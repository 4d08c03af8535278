"""What POP tells its clients and notes for itself: handles, places of messages, records of the revive topic. Pure."""
