"""Whether the modules that every message crosses run as machine code (see setup.py)."""

from pathlib import Path
from typing import Final

from trimq.codec import frame

IS_COMPILED: Final = Path(frame.__file__).suffix != ".py"
MODE: Final = "compiled" if IS_COMPILED else "pure Python"
