"""Deliberately wrong builds of TriMQ, each of which a scenario must notice."""
