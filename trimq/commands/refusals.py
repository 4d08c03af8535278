"""How a command ends that cannot do its work: one sentence, no traceback, an exit code."""

import click


class Refused(click.ClickException):
    """A server cannot start or continue; the text says what to do."""

    exit_code = 1


class Misused(click.ClickException):
    """What was asked for makes no sense or is not there; the text says why."""

    exit_code = 2
