"""`mqadmin` for many commands: a process that has loaded it, and becomes a process of its own for each command.

Lines of JSON come in, ``{"words", "out", "err", "environment"}``: the words of a command, the files that take what it
prints, and variables that it has besides those of this process. For each of them a line with its exit code goes out.
Every command so begins as a new one does, without the third of a second that Python takes to load the packages.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from importlib import import_module

from trimq.mqadmin import names
from trimq.mqadmin.cli import main


def play(words: list[str], out: str, err: str, environment: dict[str, str]) -> None:
    """In the process of the command; does not return."""
    os.environ.update(environment)
    for number, path in ((0, os.devnull), (1, out), (2, err)):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        file = os.open(path, flags, 0o600)
        os.dup2(file, number)
        os.close(file)
    sys.argv = ["mqadmin", *words]
    main(prog_name="mqadmin")


def serve() -> None:
    for command in (*names.COMMANDS, *names.OWN):
        import_module(f"trimq.mqadmin.commands.{names.module_of(command)}")
    gc.freeze()
    # Not by the file object: a child would have read ahead what is meant for its parent.
    requests = os.fdopen(os.dup(0), "rb", buffering=0)
    while line := requests.readline():
        command = json.loads(line)
        child = os.fork()
        if child == 0:
            return play(**command)
        _, status = os.waitpid(child, 0)
        os.write(1, b"%d\n" % os.waitstatus_to_exitcode(status))
    return None


if __name__ == "__main__":
    serve()
