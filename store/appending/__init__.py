"""From a message to a record that is staged for the commit log and its queue. Runs on the loop; never blocks."""
