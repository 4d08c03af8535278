"""Bytes and values: frames, headers, bodies, records. No input or output happens here."""
