"""One processor per request code."""
