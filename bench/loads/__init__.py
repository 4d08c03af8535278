"""What servers are given to do, by which clients, and when they are warm."""
