"""What two versions of RocketMQ say differently to others: `python -m compat_tests.drift OLD NEW`."""
