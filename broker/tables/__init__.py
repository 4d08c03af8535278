"""How the broker keeps a table: its file, version, attributes. Changed on the loop, written in worker threads."""
