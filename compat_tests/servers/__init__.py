"""Starting and stopping the real RocketMQ and TriMQ; jars, processes, containers."""
