"""Whether the modules that every message crosses run as machine code (see setup.py)."""

from pathlib import Path
from typing import Final

from trimq.codec.frames import frame

IS_COMPILED: Final = Path(frame.__file__).suffix != ".py"
MODE: Final = "compiled" if IS_COMPILED else "pure Python"
SOURCE_TREE: Final = "this is a source tree, 'pip install .' compiles"


def reason() -> str:
    """Why an installation is not compiled, and what to do; empty where that is not known, or where it is."""
    if IS_COMPILED:
        return ""
    try:
        # What a build writes that could not compile: building/compiling.py.
        return (Path(__file__).parent / "plain.txt").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""


def description() -> str:
    """For the log: MODE, and what to do to get the faster one."""
    if IS_COMPILED:
        return MODE
    return f"{MODE} ({reason() or SOURCE_TREE})"
