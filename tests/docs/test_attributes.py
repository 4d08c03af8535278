"""docs/attributes.md names every attribute, with the values that are taken."""

import re
from pathlib import Path

import pytest

from trimq.broker.tables.attributes import GROUP_ATTRIBUTES, TOPIC_ATTRIBUTES, Attribute

PAGE = Path(__file__).parents[2] / "docs" / "attributes.md"
ATTRIBUTES = {**TOPIC_ATTRIBUTES, **GROUP_ATTRIBUTES}


def rows() -> dict[str, list[str]]:
    """The cells of each line that begins with an attribute."""
    lines = (line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines())
    return {cells[0].strip("`"): cells[1:] for cells in lines if re.match(r"`[a-z.]+`$", cells[0])}


def test_all_of_them_and_no_others() -> None:
    assert rows().keys() == ATTRIBUTES.keys()


@pytest.mark.parametrize("name", sorted(ATTRIBUTES))
def test_its_values(name: str) -> None:
    attribute: Attribute = ATTRIBUTES[name]
    values = rows()[name][0]
    if attribute.choices:
        assert set(re.findall(r"`(\w+)`", values)) == set(attribute.choices)
    elif attribute.boolean:
        assert values == "`true`, `false`"
    elif attribute.at_least is not None:
        assert values.startswith(str(attribute.at_least))
        ends = attribute.at_most < 1 << 62
        assert values.split()[1:2] == (["to"] if ends else ["and"])
        assert not ends or str(attribute.at_most) in values


@pytest.mark.parametrize("name", sorted(TOPIC_ATTRIBUTES))
def test_whether_it_can_change(name: str) -> None:
    assert rows()[name][2] == ("yes" if TOPIC_ATTRIBUTES[name].changeable else "no")
