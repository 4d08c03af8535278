"""Random expressions, right and wrong ones, and properties of messages to evaluate them on."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

NAMES: Final = ("a", "b", "c", "d", "_e", "$f", "Region", "nota", "isx", "missing", "absent")
TEXTS: Final = (
    *(
        "",
        "x",
        "y",
        "true",
        "TRUE",
        "false",
        "True ",
        "5",
        "7",
        "abc",
        "it''s",
        "''",
        "a b",
        "é",
        "日本",
        "😀",
    ),
    *("NaN", "Infinity", "--", "/*", "%", "1.5"),
)
NUMBERS: Final = (
    *("0", "1", "5", "7", "007", "42L", "5l", "0L", "2147483647", "2147483648", "-1", "+3"),
    *(
        "9223372036854775807",
        "9223372036854775808",
        "1.5",
        "5.",
        ".5",
        "0.0",
        "1e3",
        "1E-3",
        "5e400",
        "1e-400",
    ),
    *("4.9e-324", "1.7976931348623157e308", "0.1", "3.0", "5.0", "1.5f", "1e", "00.5"),
)
VALUES: Final = (
    *(
        "0",
        "1",
        "5",
        "7",
        "-1",
        "+5",
        "005",
        "5.0",
        "1.5",
        ".5",
        "5.",
        "1e3",
        "5d",
        "5F",
        "0x1p3",
        "0X.8P1",
        "1e999",
    ),
    *(
        "x",
        "y",
        "abc",
        "true",
        "TRUE",
        "tRuE",
        "false",
        "NaN",
        "-NaN",
        "Infinity",
        "-Infinity",
        "nan",
        "inf",
        " 5 ",
    ),
    *(
        "\t5\n",
        "5 5",
        "1_000",
        "٥",
        "５",
        "𝟓",
        "2147483647",
        "2147483648",
        "-2147483648",
        "9223372036854775807",
    ),
    *(
        "9223372036854775808",
        "-9223372036854775808",
        "0.1",
        "-0.0",
        "0.0",
        "it's",
        "'",
        "a b",
        "é",
        "日本",
        "😀",
        "-",
        "+",
    ),
    *("0x10", "1L", "\u00a05", "5\u2028", "1" * 400, "0." + "3" * 400, "0" * 30 + "7"),
)
WHITE: Final = (
    " ",
    " ",
    " ",
    "  ",
    "\t",
    "\n",
    " /* x */ ",
    " -- y\n",
    "\r\n",
    "\f",
    "/***/",
    " /* * / */ ",
)
NOISE: Final = (
    *(
        "NOT",
        "AND",
        "OR",
        "IS",
        "NULL",
        "IN",
        "(",
        ")",
        ",",
        "=",
        "<>",
        "<",
        ">=",
        "+",
        "-",
        "--",
        "'",
        "BETWEEN",
    ),
    *(
        "a",
        "5",
        "'x'",
        "#",
        "==",
        "!=",
        "CONTAINS",
        "STARTSWITH",
        "é",
        ";",
        "/*",
        "*",
        "LIKE",
        "\u00a0",
        "\u0131s",
    ),
)


@dataclass(frozen=True, slots=True)
class Question:
    """An expression, and the properties of a message."""

    text: str
    properties: tuple[tuple[str, str], ...]


def questions(count: int, seed: int) -> list[Question]:
    """As many as asked for; about one in three is no expression."""
    dice = random.Random(seed)
    return [Maker(dice).question() for _ in range(count)]


class Maker:
    """Makes one question by rolling dice."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    def question(self) -> Question:
        dice = self._dice
        tokens = self._condition(dice.choice((0, 0, 1, 1, 2, 2, 3)))
        for _ in range(dice.choice((0, 0, 0, 0, 0, 0, 1, 2))):
            self._disturb(tokens)
        names = dice.sample(NAMES[:-2], dice.randrange(len(NAMES) - 1))
        properties = tuple((name, dice.choice(VALUES)) for name in names)
        return Question(self._joined(tokens), properties)

    def _joined(self, tokens: list[str]) -> str:
        text = ""
        for token in tokens:
            close = self._dice.random() < 0.1
            text += ("" if close or not text else self._dice.choice(WHITE)) + token
        return text + ("" if self._dice.random() < 0.8 else self._dice.choice(WHITE))

    def _disturb(self, tokens: list[str]) -> None:
        at = self._dice.randrange(len(tokens) + 1)
        kind = self._dice.randrange(4)
        if kind == 0 and at < len(tokens) > 1:
            del tokens[at]
        elif kind == 1 and at < len(tokens):
            tokens[at] = self._dice.choice(NOISE)
        elif kind == 2:
            tokens += self._dice.choices(NOISE, k=self._dice.randrange(1, 4))
        else:
            tokens.insert(at, self._dice.choice(NOISE))

    def _condition(self, depth: int) -> list[str]:
        dice = self._dice
        if depth <= 0 or dice.random() < 0.15:
            return self._simple()
        kind = dice.randrange(7)
        if kind < 4:
            word = self._word("AND" if kind % 2 else "OR")
            return [*self._condition(depth - 1), word, *self._condition(depth - 1)]
        if kind == 4:
            return [self._word("NOT"), *self._condition(depth - 1)]
        if kind == 5:
            return ["(", *self._condition(depth - 1), ")"]
        sign = dice.choice(("=", "<>", ">", "IS NULL"))
        if sign == "IS NULL":
            return ["(", *self._condition(depth - 1), ")", self._word("IS"), self._word("NULL")]
        return ["(", *self._condition(depth - 1), ")", sign, *self._operand()]

    def _simple(self) -> list[str]:
        dice = self._dice
        left = [dice.choice(NAMES)] if dice.random() < 0.8 else self._operand()
        kind = dice.randrange(12)
        no = [self._word("NOT")] if dice.random() < 0.3 else []
        if kind < 4:
            return [*left, dice.choice(("=", "<>")), *self._operand()]
        if kind < 6:
            return [*left, dice.choice(("<", ">", "<=", ">=")), *self._number()]
        if kind == 6:
            return [*left, self._word("IS"), *no, self._word("NULL")]
        if kind == 7:
            bounds = [*self._number(), self._word("AND"), *self._number()]
            return [*left, *no, self._word("BETWEEN"), *bounds]
        if kind == 8:
            texts = [self._text()]
            for _ in range(dice.choice((0, 1, 2, 6))):
                texts += [",", self._text()]
            return [*left, *no, self._word("IN"), "(", *texts, ")"]
        if kind < 11:
            word = dice.choice(("CONTAINS", "STARTSWITH", "ENDSWITH"))
            return [*left, *no, self._word(word), self._text()]
        return left

    def _number(self) -> list[str]:
        """Or anything else, sometimes."""
        dice = self._dice
        if dice.random() < 0.1:
            return self._operand()
        return [dice.choice(NAMES if dice.random() < 0.5 else NUMBERS)]

    def _operand(self) -> list[str]:
        dice = self._dice
        kind = dice.randrange(20)
        if kind < 10:
            return [dice.choice(NAMES)]
        if kind < 14:
            return [dice.choice(NUMBERS)]
        if kind < 16:
            return [self._text()]
        if kind == 16:
            return [self._word(dice.choice(("TRUE", "FALSE", "NULL")))]
        if kind == 17:
            return [dice.choice(("-", "+")), *self._operand()]
        if kind == 18:
            return ["(", *self._operand(), ")"]
        return ["(", *self._simple(), ")"]

    def _text(self) -> str:
        return f"'{self._dice.choice(TEXTS)}'"

    def _word(self, word: str) -> str:
        return "".join(self._dice.choice((one, one, one.lower())) for one in word)
