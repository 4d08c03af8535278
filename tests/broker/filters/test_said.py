"""Tables of verdicts: one for each expression, and only so many."""

from trimq.broker.filters.said import Said
from trimq.codec.sql.grammar import parse


def test_each_expression_has_its_own() -> None:
    said = Said()
    one, other = parse("n = 1"), parse("n = 2")
    assert said.by(one) is said.by(one)
    assert said.by(one) is not said.by(other)
    # Equal texts are equal expressions only if they were read once.
    assert said.by(parse("n = 1")) is not said.by(one)


def test_what_looks_at_too_much_has_none() -> None:
    said = Said()
    wide = parse(" OR ".join(f"n{number} = 1" for number in range(9)))
    assert said.by(wide) is None
    assert said.by(wide) is None


def test_the_last_ones_are_kept() -> None:
    said = Said(2)
    first, second, third = (parse(f"n = {number}") for number in range(3))
    tables = [said.by(first), said.by(second)]
    assert said.by(first) is tables[0]
    said.by(third)
    assert said.by(first) is tables[0]
    assert said.by(second) is not tables[1]
