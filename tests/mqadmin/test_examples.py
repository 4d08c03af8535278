"""The examples that `--help` shows are read by their commands."""

import shlex

import click
import pytest

from trimq.mqadmin.cli import main
from trimq.mqadmin.examples import EXAMPLES
from trimq.mqadmin.names import COMMANDS

_EVERY = [(name, words) for name, examples in EXAMPLES.items() for words in examples]


def command(name: str) -> click.Command:
    found = main.get_command(click.Context(main), name)
    assert found is not None
    return found


@pytest.mark.parametrize(("name", "words"), _EVERY)
def test_a_command_reads_its_example(name: str, words: str) -> None:
    command(name).make_context(name, shlex.split(words))


def test_every_command_has_examples() -> None:
    """elasticTopic, a group of commands, shows its own."""
    assert set(EXAMPLES) == set(COMMANDS) - {"elasticTopic"}


def test_help_ends_with_them() -> None:
    found = command("resetOffset")
    shown = found.get_help(click.Context(found, info_name="resetOffset"))
    assert (
        "\n  Examples:\n    mqadmin resetOffset -g billing -t Orders --to latest --dry-run\n"
        in shown
    )
