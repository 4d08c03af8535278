"""How far groups have read: committed offsets, in memory and in their file."""
