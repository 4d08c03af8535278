from trimq.codec.native.batches import BatchSend

def encode_batch(
    send: BatchSend,
    queue_offset: int,
    position: int,
    store_timestamp: int,
    longest_body: int,
    /,
) -> tuple[bytes, list[int], list[bytes]] | None: ...
def message_ids(start: str, position: int, sizes: list[int], /) -> str: ...
