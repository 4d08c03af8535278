"""Frames of the protocol: cutting a stream, commands, their JSON header."""
