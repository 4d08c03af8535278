"""TriMQ's image in the place of RocketMQ's: the commands, mounts and variables of those who run that one."""
