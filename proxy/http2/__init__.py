"""HTTP/2, sans-IO: bytes in, events out."""
