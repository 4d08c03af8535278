"""What any server process needs around it: supervised services, metrics, TLS from files, long loop steps."""
