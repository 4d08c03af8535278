"""gRPC over HTTP/2: calls with messages, deadlines and statuses. Knows nothing of RocketMQ."""
