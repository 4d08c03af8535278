"""From files and flags to typed settings, at a start and while a server runs."""
