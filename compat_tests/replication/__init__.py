"""Masters and slaves, the real 5.5.0 and TriMQ in every pair: the same run, equal outcome."""
