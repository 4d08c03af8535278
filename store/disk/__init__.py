"""Files and folders as such: whole writes, sparse files, locks, what the system provides. Everything here may block."""
