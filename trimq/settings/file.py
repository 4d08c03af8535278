"""The file that run-time changes of settings go to: a config file, or one beside the store.

It may hold passwords: at no moment may it be readable by anybody who could not read it before.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from trimq.codec.java.properties import change_properties, properties_encoding
from trimq.store.disk.config_file import ConfigFile
from trimq.store.errors import StoreError

_PRIVATE: Final = 0o600


class SettingsFile:
    """One ``.properties`` file; the previous version becomes its ``.bak``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def change(self, changes: Mapping[str, str]) -> None:
        """Blocks. Write these values into the file as it is now; its other lines stay.

        StoreError when that fails; then the file is as it was.
        """
        # A link stays a link: the file that it names is replaced.
        file = ConfigFile(self.path.resolve())
        try:
            before, mode = b"", _PRIVATE
            if file.path.exists():
                before = file.path.read_bytes()
                mode = file.path.stat().st_mode & 0o777
            encoding = properties_encoding(before)
            after = change_properties(before.decode(encoding), changes).encode(encoding)
        except (OSError, ValueError) as error:
            raise StoreError(f"changing {self.path}: {error}") from error
        file.save(after, mode)
