"""What a test may only replace where it is plain Python."""

import pytest

from trimq.broker.pop.revive import retry
from trimq.replication import slaves
from trimq.store.log import commit_log
from trimq.store.timers import wheel

needs_plain_log = pytest.mark.skipif(
    not commit_log.__file__.endswith(".py"),
    reason="replaces methods of the commit log, which is compiled here (make unit plays it)",
)

needs_plain_timers = pytest.mark.skipif(
    not wheel.__file__.endswith(".py"),
    reason="replaces methods of the timers' files, which are compiled here (make unit plays it)",
)

needs_plain_slaves = pytest.mark.skipif(
    not slaves.__file__.endswith(".py"),
    reason="replaces a method of the table of slaves, which is compiled here (make unit plays it)",
)

needs_plain_revive = pytest.mark.skipif(
    not retry.__file__.endswith(".py"),
    reason="replaces a method of reviving, which is compiled here (make unit plays it)",
)
