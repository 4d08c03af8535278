"""For how long a group's next message has been waiting, from what a broker says of the queue."""

import pytest

from trimq.admin.groups.progress import waiting_millis
from trimq.codec.bodies.progress import QueueTimeSpan

NOW = 10**12
DAY = 86_400_000


@pytest.mark.parametrize(
    ("committed", "ends", "delay", "waiting"),
    [
        pytest.param(3, (0, 9), 5000, 5000, id="the broker's own figure"),
        pytest.param(9, (0, 9), 5000, 0, id="everything is consumed"),
        pytest.param(1, (2, 9), 5000, DAY, id="its message is gone: the first one that is there"),
        pytest.param(0, (0, 9), NOW + 1, DAY, id="no offset: counted from 1969"),
        pytest.param(0, (0, 9), NOW - 30, DAY, id="the same, and the broker's clock is behind"),
        pytest.param(0, (0, 0), NOW - 30, 0, id="no offset, no message"),
    ],
)
def test_waiting(committed: int, ends: tuple[int, int], delay: int, waiting: int) -> None:
    span = QueueTimeSpan(delay_time=delay, min_time_stamp=NOW - DAY)
    assert waiting_millis(NOW, committed, *ends, span) == waiting
