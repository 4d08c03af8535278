"""What a test may only replace where it is plain Python."""

import pytest

from trimq.store.log import commit_log

needs_plain_log = pytest.mark.skipif(
    not commit_log.__file__.endswith(".py"),
    reason="replaces methods of the commit log, which is compiled here (make unit plays it)",
)
