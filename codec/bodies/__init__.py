"""JSON bodies of requests and replies, under RocketMQ's names."""
