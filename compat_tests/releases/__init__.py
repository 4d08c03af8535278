"""TriMQ as it is deployed, on systems like those of its users; and a release after another over the same stores."""
