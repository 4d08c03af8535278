"""The timer wheel's files. Blocks; read at start."""
