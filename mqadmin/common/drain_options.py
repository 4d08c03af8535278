"""The flags of `updateTopic --drain`."""

import click

from trimq.mqadmin.common.draining import SETTLE_SECONDS
from trimq.mqadmin.framework import together

drain_options = together(
    click.option(
        "--drain",
        is_flag=True,
        help="Remove queues safely: stop writes to the last ones, wait until every group has "
        "read them, then drop them. Delayed messages that were sent before keep their queue: "
        "let them arrive first.",
    ),
    click.option(
        "--drain-timeout",
        type=click.FloatRange(min=0),
        metavar="SECONDS",
        help="Give up after waiting this long; by default, never.",
    ),
    click.option(
        "--drain-settle",
        type=click.FloatRange(min=0),
        default=SETTLE_SECONDS,
        show_default=True,
        metavar="SECONDS",
        help="How long no message must have arrived; longer than producers keep a route.",
    ),
    click.option(
        "--ignore-group",
        "ignored",
        multiple=True,
        metavar="GROUP",
        help="Do not wait for this group; can be repeated.",
    ),
)
"""--drain and what belongs to it."""
