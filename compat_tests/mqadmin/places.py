"""Where a NameServer and a broker are, and texts and frames of one such pair as another pair would have sent them.

All addresses have ports of five digits: columns and lengths stay as they are.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Final

from trimq.codec.frames.command import RemotingCommand


@dataclass(frozen=True)
class Places:
    """HOST:PORT of each."""

    namesrv_addr: str
    broker_addr: str


# What stands in records, in place of a run's own.
RECORDED: Final = Places("127.0.0.1:29876", "127.0.0.1:20911")


class Move:
    """From one pair to another: addresses as text, in ids of messages, and in records of the log."""

    def __init__(self, old: Places, new: Places, texts: Sequence[tuple[str, str]] = ()) -> None:
        """`texts` are replaced, too."""
        pairs = (
            (old.namesrv_addr, new.namesrv_addr),
            (old.broker_addr, new.broker_addr),
        )
        assert all(len(one) == len(other) for one, other in pairs), pairs
        packed = [(_packed(one), _packed(other)) for one, other in pairs]
        ids = [(one.hex().upper(), other.hex().upper()) for one, other in packed]
        self._texts = (*pairs, *ids, *texts)
        self._packed = packed

    def text(self, text: str) -> str:
        for old, new in self._texts:
            text = text.replace(old, new)
        return text

    def data(self, data: bytes) -> bytes:
        """A text; or records of the log, in whose bodies nothing may change: a checksum goes with each."""
        try:
            return self.text(data.decode()).encode()
        except UnicodeDecodeError:
            for old, new in self._packed:
                data = data.replace(old, new)
            return data

    def command(self, command: RemotingCommand) -> RemotingCommand:
        """The same question or answer with the other addresses."""
        fields = {name: self.text(value) for name, value in command.ext_fields.items()}
        return RemotingCommand(
            command.code,
            command.opaque,
            command.flag,
            None if command.remark is None else self.text(command.remark),
            fields,
            self.data(command.body),
            command.coding,
            command.language,
            command.version,
        )


def _packed(addr: str) -> bytes:
    """As in a record: four bytes of the host, and the port."""
    host, _, port = addr.rpartition(":")
    return IPv4Address(host).packed + struct.pack(">I", int(port))
