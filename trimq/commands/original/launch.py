"""What a command of RocketMQ's becomes, or why nothing."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Launch:
    """A module to run in this process's place, its words, and what has to be said before."""

    words: tuple[str, ...]
    said: tuple[str, ...] = ()
    module: str = "trimq"


class NotLaunched(Exception):
    """A command that is not run; the text is one sentence for the user."""

    def __init__(self, sentence: str, code: int = 2) -> None:
        super().__init__(sentence)
        self.code = code
