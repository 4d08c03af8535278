"""One processor per request code. They translate; the files at the top are what several of them share."""
