"""The calls of apache.rocketmq.v2.MessagingService, one file each: check, ask, answer."""
