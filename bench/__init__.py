"""Side-by-side measurements against the real RocketMQ, with the official clients. ``make bench``."""
