"""dumpCompactionLog: the messages of a local file of a log, without their bodies.

Java: DumpCompactionLogCommand, which leaves out messages with a percent sign in them: it takes them for
formats. Files of compaction logs and commit logs hold the same records.
"""

import mmap

import click

from trimq.admin.messages.message import read_log
from trimq.codec.errors import CodecError
from trimq.mqadmin.failures import Failed
from trimq.mqadmin.framework import local_command
from trimq.mqadmin.output import Output
from trimq.mqadmin.text.messages import message_text, message_value


@local_command("dumpCompactionLog")
@click.option("-f", "--file", "filename", required=True, help="The file.")
def command(out: Output, filename: str) -> None:
    try:
        with open(filename, "rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    except OSError as error:
        raise Failed(f"cannot read {filename}: {error.strerror}") from None
    except ValueError as error:
        # An empty file cannot be mapped.
        raise Failed(f"{filename}: {error}") from None
    try:
        with mapped as data:
            _show(out, data)
    except CodecError as error:
        raise Failed(f"{filename}: {error}") from None


def _show(out: Output, data: mmap.mmap) -> None:
    with memoryview(data) as view:
        for message in read_log(view):
            value = message_value(message) if out.as_json else None
            out.row(message_text(message, as_stored=True), value)
