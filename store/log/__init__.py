"""The commit log: its files, what is staged, its pages in memory. On the loop, except `held_read` and `scan`."""
