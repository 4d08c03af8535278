"""A producer's send: what is checked, what properties it gets, and which kind of send it is."""
