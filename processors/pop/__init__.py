"""POP: handing out messages, acknowledging them, changing when they come again, and asking about all that."""
