"""`format("rocketmq-store")`: a store directory without its broker."""
