"""Topics, groups, messages: what tools ask."""
