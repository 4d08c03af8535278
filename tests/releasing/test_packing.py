"""Archives whose bytes depend on their content alone."""

from __future__ import annotations

import gzip
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from releasing.packing import pack_sdist, pack_wheel

SECONDS = 1_700_000_000
INFO = "trimq-1.dist-info"
RECORD = f"{INFO}/RECORD"


def wheel(path: Path, names: Sequence[str], year: int) -> Path:
    path.parent.mkdir()
    lines = [f"{name},sha256=x,1\n" for name in (*names, RECORD)]
    with zipfile.ZipFile(path, "w") as made:
        for name in names:
            made.writestr(zipfile.ZipInfo(name, (year, 1, 1, 0, 0, 0)), f"{name}\n" * 50)
        made.mkdir("trimq/empty")
        made.writestr(RECORD, "".join(lines))
    return path


def test_wheels_of_the_same_content_are_the_same(tmp_path: Path) -> None:
    names = ["trimq/b.py", "trimq/a.py", f"{INFO}/METADATA", "pyspark_rocketmq.py"]
    made = []
    for number, order in enumerate((names, names[::-1])):
        source = wheel(tmp_path / f"in{number}" / "one.whl", order, 2000 + number)
        (tmp_path / f"out{number}").mkdir()
        made.append(pack_wheel(source, tmp_path / f"out{number}", SECONDS))
    assert made[0].name == "one.whl"
    assert made[0].read_bytes() == made[1].read_bytes()
    with zipfile.ZipFile(made[0]) as packed:
        assert packed.testzip() is None
        assert packed.namelist() == [
            "pyspark_rocketmq.py",
            "trimq/a.py",
            "trimq/b.py",
            f"{INFO}/METADATA",
            RECORD,
        ]
        assert packed.read("trimq/a.py") == b"trimq/a.py\n" * 50
        assert {one.date_time for one in packed.infolist()} == {(2023, 11, 14, 22, 13, 20)}
        assert {one.external_attr >> 16 for one in packed.infolist()} == {0o100644}
        assert {one.compress_type for one in packed.infolist()} == {zipfile.ZIP_DEFLATED}


def sdist(path: Path, names: Sequence[str], uid: int, zipped_at: int) -> Path:
    path.parent.mkdir()
    for name in names:
        (path.parent / name).parent.mkdir(exist_ok=True)
        (path.parent / name).write_text(f"{name}\n")
    plain = path.parent / "plain.tar"
    with tarfile.open(plain, "w") as made:
        for name in ("head", *names):
            entry = made.gettarinfo(str(path.parent / name), name)
            entry.uid, entry.uname, entry.mode = uid, "somebody", 0o700 + uid
            with (path.parent / name).open("rb") if entry.isfile() else plain.open("rb") as file:
                made.addfile(entry, file if entry.isfile() else None)
    with path.open("wb") as packed, gzip.GzipFile("x", "wb", 1, packed, mtime=zipped_at) as zipped:
        zipped.write(plain.read_bytes())
    return path


def test_source_archives_of_the_same_content_are_the_same(tmp_path: Path) -> None:
    names = ["head/b.py", "head/a.py"]
    made = []
    for number, order in enumerate((names, names[::-1])):
        source = sdist(tmp_path / f"in{number}" / "one.tar.gz", order, number, number)
        (tmp_path / f"out{number}").mkdir()
        made.append(pack_sdist(source, tmp_path / f"out{number}", SECONDS))
    assert made[0].read_bytes() == made[1].read_bytes()
    with tarfile.open(made[0]) as packed:
        assert packed.getnames() == ["head", "head/a.py", "head/b.py"]
        assert {(one.uid, one.uname, one.mtime) for one in packed} == {(0, "", SECONDS)}
        assert [one.mode for one in packed] == [0o755, 0o644, 0o644]
        file = packed.extractfile("head/a.py")
        assert file is not None
        assert file.read() == b"head/a.py\n"
