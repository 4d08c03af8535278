"""What one pull gets: offsets, bounds, records. On the loop; waits for a disk only in the worker part of `loading`."""
