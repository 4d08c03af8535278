def ordinary_properties(
    properties: str | bytes,
    dropped: tuple[bytes, ...],
    deciding: tuple[bytes, ...],
    wanted: tuple[bytes, ...],
    /,
) -> tuple[bytes, tuple[bytes | None, ...]] | None: ...
def property_values(properties: bytes, names: tuple[bytes, ...], /) -> tuple[bytes | None, ...]: ...
