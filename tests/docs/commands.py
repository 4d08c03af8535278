"""The commands in the documents: what their blocks of code tell a shell to run."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tests.docs.pages import Code, blocks

# Blocks of these kinds, and those in which a `$` stands before what is typed.
SHELL: Final = ("sh", "bash", "console")
PROMPT: Final = "$ "
_COMMENT: Final = re.compile(r"(^|\s)#\s.*")
_BETWEEN: Final = re.compile(r"[|&;()]+")
_REDIRECTION: Final = re.compile(r"[<>]+&?")
_ASSIGNMENT: Final = re.compile(r"\w+=.*")
# They stand before a command.
_WORDS: Final = ("if", "then", "else", "while", "until", "do", "!", "{")


@dataclass(frozen=True)
class Command:
    """Where it stands, and its words: the program by its name alone, then the arguments."""

    page: str
    line: int
    words: tuple[str, ...]

    @property
    def program(self) -> str:
        return self.words[0]

    @property
    def arguments(self) -> list[str]:
        return list(self.words[1:])

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


# Of an image: what it starts, and what looks whether that is well.
_STARTED: Final = re.compile(r"(HEALTHCHECK .*?CMD|CMD|ENTRYPOINT) (?P<command>.*)")


def commands(page: str) -> list[Command]:
    """Of all blocks of code of a page. ValueError: a block that no shell can read."""
    found: list[Command] = []
    for block in blocks(page):
        for number, line in _started(block) if block.info == "dockerfile" else _typed(block):
            found += [Command(page, number, tuple(words)) for words in simple_commands(line)]
    return found


def _started(block: Code) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(block.text.splitlines(), block.line + 1):
        if started := _STARTED.fullmatch(line):
            command = started["command"]
            yield number, shlex.join(json.loads(command)) if command.startswith("[") else command


def _typed(block: Code) -> Iterator[tuple[int, str]]:
    """What is typed, with the number of its first line in the page. A backslash at the end joins two lines."""
    lines = block.text.splitlines()
    has_prompts = any(line.startswith(PROMPT) for line in lines)
    if not has_prompts and block.info.partition(" ")[0] not in SHELL:
        return
    joined = ""
    for number, line in enumerate(lines, block.line + 1):
        if joined or not has_prompts or line.startswith(PROMPT):
            joined += line.removeprefix(PROMPT)
            if joined.endswith("\\"):
                joined = joined.removesuffix("\\")
            else:
                yield number, joined
                joined = ""


def simple_commands(line: str) -> Iterator[list[str]]:
    """Each program that a line runs, with its arguments; without variables that are set, and without redirections."""
    lexer = shlex.shlex(_COMMENT.sub("", line), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    for word in [*lexer, ";"]:
        if not _BETWEEN.fullmatch(word):
            words.append(word)
            continue
        if command := _command(words):
            yield command
        words = []


def _command(words: list[str]) -> list[str]:
    kept: list[str] = []
    is_file = False
    for word in words:
        is_redirection = bool(_REDIRECTION.fullmatch(word))
        if not (is_redirection or is_file):
            kept.append(word)
        is_file = is_redirection
    while kept and (kept[0] in _WORDS or _ASSIGNMENT.fullmatch(kept[0])):
        del kept[0]
    return [kept[0].rpartition("/")[2], *kept[1:]] if kept else []
