"""One file per command, named after it; each has one `command`."""
