"""A broker's settings by subject: groups of declarations, which broker/config.py puts together. No code."""
