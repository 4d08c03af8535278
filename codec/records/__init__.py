"""A message's record in the commit log, its properties, ids, batches and compressed bodies."""
