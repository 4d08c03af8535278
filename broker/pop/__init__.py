"""POP: messages are handed out, hidden for a while, and put back if nobody acknowledges them. On the loop."""
