def encode_record(
    topic: bytes,
    queue_id: int,
    flag: int,
    queue_offset: int,
    physical_offset: int,
    sys_flag: int,
    born_timestamp: int,
    born_host: bytes,
    store_timestamp: int,
    store_host: bytes,
    reconsume_times: int,
    prepared_transaction_offset: int,
    body: bytes,
    properties: bytes,
    /,
) -> bytes: ...
def message_id(start: str, position: int, /) -> str: ...
def property_text(properties: bytes, name: bytes, /) -> str | None: ...
def sent_properties(
    text: str, added: bytes, deciding: tuple[bytes, ...], /
) -> tuple[bytes, str | None, int] | None: ...
def tag_hash(properties: bytes, /) -> int | None: ...
