"""Config files as ConfigManager keeps them: the text itself and its previous version as `.bak`."""

from __future__ import annotations

from pathlib import Path

from trimq.store.disk.files import make_durable_directory, replace_file, store_error, sync_directory


class ConfigFile:
    """One file below `store/config`. Only its owner knows what the text means."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.backup = path.with_name(path.name + ".bak")

    def load(self) -> bytes | None:
        """The newest version there is, or None on a fresh store.

        An empty main file is left when a crash interrupts a real broker's write; like
        MixAll.file2String its twin is read then.
        """
        for path in (self.path, self.backup):
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                continue
            if data.strip():
                return data
        return None

    def load_backup(self) -> bytes | None:
        """The previous version, for an owner that cannot read the newest."""
        try:
            return self.backup.read_bytes() or None
        except FileNotFoundError:
            return None

    def save(self, data: bytes, mode: int | None = None) -> None:
        """Replace the file in one step; the previous version becomes the twin (MixAll.string2File).

        Neither name is ever missing or half written, whenever the process ends. `mode` is that of
        both files, for confidential contents.
        """
        try:
            make_durable_directory(self.path.parent)
            previous = self.path.read_bytes() if self.path.exists() else b""
            if previous == data:
                return
            if previous:
                replace_file(self.backup, previous, mode)
            replace_file(self.path, data, mode)
            sync_directory(self.path.parent)
        except OSError as error:
            raise store_error(error, f"saving {self.path}") from error
