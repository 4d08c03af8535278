"""Official clients on an elastic topic whose number of queues changes; the real server beside it, as a warning."""
