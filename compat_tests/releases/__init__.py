"""TriMQ as it is deployed, on systems like those of its users."""
