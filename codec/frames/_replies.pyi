def plain_reply(
    code: int,
    flag: int,
    opaque: int,
    version: int,
    fields: dict[str, str] | None,
    body_length: int,
    /,
) -> bytes | None: ...
