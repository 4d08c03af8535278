"""Tables of verdicts: one for each expression, and only so many."""

from trimq.broker.filters.verdicts import PropertyVerdicts
from trimq.codec.sql.grammar import parse


def test_each_expression_has_its_own() -> None:
    verdicts = PropertyVerdicts()
    one, other = parse("n = 1"), parse("n = 2")
    assert verdicts.by(one) is verdicts.by(one)
    assert verdicts.by(one) is not verdicts.by(other)
    # Equal texts are equal expressions only if they were read once.
    assert verdicts.by(parse("n = 1")) is not verdicts.by(one)


def test_what_looks_at_too_much_has_none() -> None:
    verdicts = PropertyVerdicts()
    wide = parse(" OR ".join(f"n{number} = 1" for number in range(9)))
    assert verdicts.by(wide) is None
    assert verdicts.by(wide) is None


def test_the_last_ones_are_kept() -> None:
    verdicts = PropertyVerdicts(2)
    first, second, third = (parse(f"n = {number}") for number in range(3))
    tables = [verdicts.by(first), verdicts.by(second)]
    assert verdicts.by(first) is tables[0]
    verdicts.by(third)
    assert verdicts.by(first) is tables[0]
    assert verdicts.by(second) is not tables[1]
