"""Elastic topics: TriMQ's own requests about them."""
