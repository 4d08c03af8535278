"""Frames as bytes, also those that no library sends."""

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RESET, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)


def frame(kind: int, body: bytes = b"", flags: int = 0, stream: int = 0) -> bytes:
    return len(body).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + body


GREETING = PREFACE + frame(SETTINGS)
