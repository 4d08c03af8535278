"""Archives that depend on their content alone: sorted, with one date, and with nobody's name or mode in them."""

from __future__ import annotations

import gzip
import io
import stat
import tarfile
import time
import zipfile
from pathlib import Path

_FILE = stat.S_IFREG | 0o644


def pack_wheel(source: Path, folder: Path, seconds: int) -> Path:
    """The wheel again, in `folder`; `seconds` since 1970."""
    made = folder / source.name
    with zipfile.ZipFile(source) as old:
        content = {name: old.read(name) for name in old.namelist() if not name.endswith("/")}
    (record,) = (name for name in content if name.endswith(".dist-info/RECORD"))
    content[record] = b"".join(sorted(content[record].splitlines(keepends=True)))
    # The format wants what describes the wheel at its end.
    names = sorted(content, key=lambda name: (".dist-info/" in name, name == record, name))
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for name in names:
            entry = zipfile.ZipInfo(name, time.gmtime(seconds)[:6])
            entry.external_attr = _FILE << 16
            entry.create_system = 3
            new.writestr(entry, content[name], zipfile.ZIP_DEFLATED, 9)
    return made


def pack_sdist(source: Path, folder: Path, seconds: int) -> Path:
    """The source archive again, in `folder`."""
    made = folder / source.name
    packed = io.BytesIO()
    with tarfile.open(source) as old, tarfile.open(fileobj=packed, mode="w") as new:
        for member in sorted(old.getmembers(), key=lambda one: one.name):
            entry = tarfile.TarInfo(member.name)
            entry.type, entry.size, entry.mtime = member.type, member.size, seconds
            entry.mode = 0o755 if member.isdir() else 0o644
            new.addfile(entry, old.extractfile(member) if member.isfile() else None)
    with made.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=seconds) as zipped:
        zipped.write(packed.getvalue())
    return made
