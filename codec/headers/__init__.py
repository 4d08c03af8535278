"""Request and response headers, one Struct per Java header class."""
