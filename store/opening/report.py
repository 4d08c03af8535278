"""What opening a store has found, and what it has done."""

from __future__ import annotations


class RecoveryReport:
    """What opening the store found and did."""

    __slots__ = (
        "clean",
        "confirmed",
        "cut",
        "dropped",
        "end",
        "entries",
        "last_record",
        "last_timestamp",
        "records",
        "start",
    )

    def __init__(self, clean: bool) -> None:
        self.clean = clean
        """The store had been closed in order."""
        self.cut = False
        """The log ends before the checkpoint says it did: somebody shortened it."""
        self.confirmed = 0
        """What a term's slaves had, by the checkpoint, if it lies in the log; otherwise the log's begin or end."""
        self.dropped = 0
        """Bytes behind the log's end that were no whole record, or lay behind something torn."""
        self.start = 0
        """Physical offset where the scan began."""
        self.end = 0
        """Physical offset where the log ends."""
        self.records = 0
        """Records scanned."""
        self.entries = 0
        """Consume-queue entries compared or written anew."""
        self.last_record = -1
        """Physical offset of the last record, -1 when none was scanned."""
        self.last_timestamp = 0
        """Its store timestamp."""

    def __repr__(self) -> str:
        how = "clean" if self.clean else "aborted"
        return (
            f"RecoveryReport({how}, {self.start}..{self.end}, {self.records} records, "
            f"{self.entries} entries)"
        )
