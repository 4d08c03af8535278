"""Running a server in this process: start, stop, supervision, metrics, failures explained."""
