"""The log and the files beside it: when they are written, and when they are deleted."""
