"""Cases of mqadmin, by subject."""
