"""TLS itself: contexts from files, cipher suites, old keys. Blocks on small files; loads no Trio."""
