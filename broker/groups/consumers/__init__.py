"""Who consumes: the members of groups, what they agree on, what they are told and asked."""
