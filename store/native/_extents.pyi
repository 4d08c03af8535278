from trimq.store.native.extents import Limits as Limits

def take_entries(
    entries: bytes, limits: Limits, low: int, written: int, max_messages: int, max_bytes: int, /
) -> tuple[bytes, int, int, int, int] | None: ...
