"""Looking messages up: by key, by id, by queue."""
