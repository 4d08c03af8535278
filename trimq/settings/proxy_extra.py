"""Whether what `trimq proxy` needs beyond the broker is installed: the extra `grpc`."""

from importlib.util import find_spec
from typing import Final

from trimq.settings.parsing import SettingsError

_PACKAGES: Final = {"protobuf": "google.protobuf", "hpack": "hpack"}


def check_extra() -> None:
    """SettingsError, with the command that installs it. Loads nothing of it."""
    missing = [name for name, module in _PACKAGES.items() if not _is_there(module)]
    if missing:
        raise SettingsError(
            f"the proxy of the 5.x clients needs {' and '.join(missing)}: pip install '/path/to/trimq[grpc]'"
        )


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        # Of a package whose parent is missing, or that somebody keeps from being loaded.
        return False
