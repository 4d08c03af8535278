"""RocketMQ servers and tools of before 5.5.0, beside ours: what they answer, and what works between them."""
