"""Random expressions on random messages: RocketMQ's own classes and ours must say the same."""

from __future__ import annotations

from collections import Counter
from typing import Final

import pytest

from compat_tests.filters.expressions import Question, questions
from compat_tests.filters.oracle import our_outcome, real_outcomes
from compat_tests.mutants.catalogue import MUTANTS
from trimq.codec.sql import comparisons

SHOWN: Final = 20
# Right and wrong ones must both be there, or nothing is shown.
OUTCOMES: Final = {"refused", "true", "false", "unknown", "exception"}

KNOWN: Final = (
    *(
        "a = 007",
        "a = 0L",
        "a = 5 -- no end",
        "a = 5 --x\n",
        "a = 5 /* x",
        "a--\n=5",
        "a NOT b",
        "a IS b",
    ),
    *(
        "a b",
        "a )",
        "(a",
        "((a) IN ('x'))",
        "+a IN ('x')",
        "a = 1 = TRUE",
        "a = TRUE = TRUE",
        "1 = TRUE",
    ),
    *(
        "- - 5 = 5",
        "-a = -5",
        "NOT NOT a",
        "-(b > 5) > a",
        "a > -(b > 5)",
        "a BETWEEN -1 AND -5",
        "a NOT",
    ),
    *(
        "'x' IS NULL",
        "NULL IS NOT NULL",
        "TRUE",
        "FALSE",
        "NULL",
        "TRUE AND NULL",
        "NULL OR a",
        "a<>5",
    ),
    *(
        "a BETWEEN 1 AND 3 AND b = 1",
        "a = .5.5",
        "a = 1e5e5",
        "a = 1.e",
        "not(a)",
        "nota = 1",
        "a=5and b=5",
    ),
    *(
        "é = 1",
        "a = 'é'",
        "a = '\n'",
        "a = ''",
        "a = ''''",
        "a = '''",
        "$ = 1",
        "_ = 1",
        "a.b = 1",
        "a = 1_0",
    ),
    *(
        "a = 9223372036854775807",
        "a > 9223372036854775807L",
        "a = 2147483648",
        "-9223372036854775808 = a",
    ),
    *(
        "a = 00",
        "a = 1.",
        "a = 0x10",
        "TRUE = 1",
        "a IS NULL IS NULL",
        "a< >5",
        "a<=>5",
        "a = 5AND b = 5",
    ),
)
VALUES: Final = (
    (),
    (("a", "5"),),
    (("a", "x"), ("b", "5")),
    (("a", "9223372036854775807"), ("b", "true")),
)


@pytest.fixture(scope="module")
def asked(request: pytest.FixtureRequest) -> list[Question]:
    """Some are the same in every run, those beyond 500 depend on how many there are."""
    count = request.config.getoption("--sql-questions")
    known = [Question(text, properties) for text in KNOWN for properties in VALUES]
    return known + questions(500, seed=1) + questions(count - 500, seed=count)


def test_same_outcome(asked: list[Question], capsys: pytest.CaptureFixture[str]) -> None:
    real = real_outcomes(asked)
    assert len(real) == len(asked)
    wrong = []
    for question, expected in zip(asked, real, strict=True):
        found = our_outcome(question)
        if found != expected:
            wrong.append(f"{question}: real {expected}, ours {found}")
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong[:SHOWN])
    counts = Counter(real)
    assert counts.keys() == OUTCOMES
    with capsys.disabled():
        print(f"\n{len(asked)} expressions: {dict(counts)}")


def test_a_mistake_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of a mutant (compat_tests/mutants), without any server."""
    monkeypatch.setattr(comparisons.Equal, "truth", comparisons.Equal.truth)
    next(mutant for mutant in MUTANTS if mutant.name == "missing-unequal").patch()
    asked = [Question("missing = absent", ()), *questions(500, seed=1)]
    real = real_outcomes(asked)
    differing = [q for q, expected in zip(asked, real, strict=True) if our_outcome(q) != expected]
    assert asked[0] in differing
    assert len(differing) > 1
