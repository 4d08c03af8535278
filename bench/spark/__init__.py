"""The Spark sources beside the official Java pull consumers and a plain read of the same files."""
