"""Where objects meet: each module here builds one kind of server as a plain list of its parts."""
