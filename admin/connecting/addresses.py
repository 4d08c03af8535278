"""Lists of addresses as users write them."""

from trimq.admin.errors import Invalid


def name_server_list(text: str) -> tuple[str, ...]:
    """`host:port;host:port` (or with commas) to its parts; Invalid when one is not HOST:PORT."""
    addrs = tuple(part.strip() for part in text.replace(",", ";").split(";") if part.strip())
    if not addrs:
        raise Invalid("no NameServer is named")
    for addr in addrs:
        check_addr(addr)
    return addrs


def check_addr(addr: str) -> str:
    """The address itself; Invalid when it is not HOST:PORT."""
    host, _, port = addr.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 0xFFFF:
        raise Invalid(f"{addr!r} is not HOST:PORT")
    return addr
