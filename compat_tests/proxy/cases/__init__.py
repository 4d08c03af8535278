"""Cases as data, by what they ask."""
