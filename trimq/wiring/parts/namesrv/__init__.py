"""A NameServer's parts: one file for each, whose `part` builds it from what it is given."""
