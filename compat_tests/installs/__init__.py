"""TriMQ as users install it."""
