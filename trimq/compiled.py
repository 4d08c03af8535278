"""Whether the modules that every message crosses run as machine code (see setup.py)."""

from pathlib import Path
from typing import Final

from trimq.codec.frames import frame

IS_COMPILED: Final = Path(frame.__file__).suffix != ".py"
MODE: Final = "compiled" if IS_COMPILED else "pure Python"


def description() -> str:
    """For the log: MODE, and what to do to get the faster one."""
    if IS_COMPILED:
        return MODE
    try:
        # What a build writes that could not compile: building/compiling.py.
        reason = (Path(__file__).parent / "plain.txt").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        reason = "this is a source tree, 'pip install .' compiles"
    return f"{MODE} ({reason})"
