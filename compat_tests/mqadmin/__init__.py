"""The official mqadmin and ours, each on the real server and on TriMQ."""
