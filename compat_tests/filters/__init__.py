"""SQL92 expressions, read and evaluated by RocketMQ's own classes and by ours."""
