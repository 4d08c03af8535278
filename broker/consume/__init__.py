"""Pulling: who may, what there is, who waits, where groups continue. On the loop; blocking work in worker threads."""
