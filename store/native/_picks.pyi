from collections.abc import Callable

from trimq.store.native.extents import Limits
from trimq.store.native.picks import Picked
from trimq.store.native.picks import Verdicts as Verdicts

def pick_entries(
    entries: bytes,
    limits: Limits,
    log: tuple[int, int],
    most: tuple[int, int],
    piece: tuple[memoryview, int],
    before: tuple[bytes, int],
    verdicts: Verdicts | None,
    ask: Callable[[bytes], int],
    /,
) -> Picked | None: ...
