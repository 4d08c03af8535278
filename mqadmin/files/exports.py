"""Files that export commands write: JSON as FastJSON prints it, indented with tabs."""

from pathlib import Path
from typing import Any, Final

import click

from trimq.codec.java import fastjson
from trimq.mqadmin.failures import Failed
from trimq.mqadmin.files.writing import TOOLS_FOLDER, write_file
from trimq.mqadmin.framework import Run

# Where the official tool puts what it exports.
_FOLDER: Final = str(TOOLS_FOLDER / "export")

folder_option = click.option(
    "-f",
    "--filePath",
    "folder",
    default=_FOLDER,
    show_default=True,
    metavar="FOLDER",
    help="Where to write the file.",
)


def write_export(run: Run, folder: str, name: str, value: Any, *, line_end: bool = False) -> None:
    """Write the file and say so; the official tool ends its line only sometimes."""
    path = f"{folder}/{name}"
    data = fastjson.dumps(value, pretty_tabs=True)
    try:
        write_file(Path(folder), name, data, replace=True, mode=0o666)
    except OSError as error:
        raise Failed(f"cannot write {path}: {error.strerror}") from None
    run.out.text(f"export {path} success" + ("\n" if line_end else ""))
    run.out.value({"file": path})
