"""Files that commands read and write."""
