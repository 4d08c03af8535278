"""Checkpoints that are not settled, of one queue of the revive topic."""

from hypothesis import given
from hypothesis import strategies as st

from trimq.broker.pop.revive.open_checkpoints import OpenCheckpoint, OpenCheckpoints, Place
from trimq.codec.bodies.pop import AckMsg, PopCheckPoint

MOST = 10


def point(first: int, due: int, **more: object) -> PopCheckPoint:
    fields: dict[str, object] = {"t": "T", "c": "G", "so": first, "pt": due, "n": 1, "d": [0]}
    return PopCheckPoint(**{**fields, **more})  # type: ignore[arg-type]


def ack(first: int, due: int) -> AckMsg:
    return AckMsg(ao=first, t="T", c="G", so=first, pt=due)


def taken(points: OpenCheckpoints, until: int) -> list[int]:
    """The first offsets of those that are due, which are settled."""
    found = []
    while (one := points.take_due(until)) is not None:
        found.append(one.point.so)
        points.settled(one)
    return found


def read(points: OpenCheckpoints, log: list[PopCheckPoint | AckMsg]) -> None:
    """What the queue's reader does with its records."""
    while points.next < len(log):
        record = log[points.next]
        if isinstance(record, AckMsg):
            points.acknowledge(record)
        else:
            points.note(record, Place(points.next, 0, 0))
        points.next += 1


def test_what_is_due_first_is_settled_first_and_the_position_stays_behind() -> None:
    points = OpenCheckpoints(0, MOST, "b")
    read(points, [point(0, 500), point(1, 300), point(2, 400)])
    assert taken(points, 300) == []
    assert taken(points, 450) == [1, 2]
    assert (points.position, len(points)) == (-1, 1)
    assert taken(points, 501) == [0]
    assert points.position == 2


def test_what_is_left_is_tried_again() -> None:
    points = OpenCheckpoints(0, MOST, "b")
    read(points, [point(0, 1), point(1, 2)])
    one = points.take_due(9)
    assert one is not None
    assert points.take_due(2) is None
    points.leave(one)
    assert taken(points, 9) == [0, 1]


def test_a_checkpoint_that_comes_twice_keeps_its_acknowledgements() -> None:
    points = OpenCheckpoints(0, MOST, "b")
    twice = [point(0, 5, n=2, d=[0, 1]), ack(0, 5), point(0, 5, n=2, d=[0, 1], sp=True)]
    read(points, list(twice))
    one = points.first_due()
    assert one is not None
    assert (one.left(), one.point.sp, one.place.offset, len(points)) == ([1], True, 2, 1)


def test_an_acknowledgement_of_other_messages_takes_no_memory() -> None:
    points = OpenCheckpoints(0, MOST, "b")
    many = AckMsg(aol=list(range(100_000)), t="T", c="G", so=3, pt=5, bn="b")
    read(points, [point(3, 5, n=2, d=[0, 2]), many])
    one = points.first_due()
    assert one is not None
    assert one.acknowledged == {3, 5}


def test_a_checkpoint_noted_again_and_again_takes_no_memory() -> None:
    points = OpenCheckpoints(0, MOST, "b")
    read(points, [point(0, 5) for _ in range(10_000)])
    assert (len(points), len(points._heap) < 2000) == (1, True)


def test_long_names_count_as_more() -> None:
    points = OpenCheckpoints(0, MOST, "b")
    read(points, [point(number, 5, bn="x" * 30_000) for number in range(1000)])
    assert len(points) <= MOST


def test_beyond_the_bound_the_queue_is_read_again_when_it_is_time() -> None:
    log: list[PopCheckPoint | AckMsg] = [point(number, 1000 - number) for number in range(100)]
    points = OpenCheckpoints(0, MOST, "b")
    read(points, log)
    assert len(points) <= MOST
    found = []
    for until in range(900, 1100, 10):
        found += taken(points, until)
        while points.go_back(until):
            read(points, log)
            assert len(points) <= MOST
            found += taken(points, until)
    assert found == list(range(99, -1, -1))
    assert points.position == 99


@given(st.data())
def test_nothing_is_lost_nor_comes_early_nor_once_more(data: st.DataObject) -> None:
    """Any order of due times and acknowledgements, with far less memory than checkpoints."""
    dues = data.draw(st.lists(st.integers(0, 50), max_size=60))
    log: list[PopCheckPoint | AckMsg] = []
    acked = set()
    for number, due in enumerate(dues):
        log.append(point(number, due))
        if data.draw(st.booleans()):
            acked.add(number)
            log.append(ack(number, due))
    points = OpenCheckpoints(0, MOST, "b")
    back: list[int] = []

    def settle(until: int) -> None:
        while (one := points.take_due(until)) is not None:
            back.extend(one.left())
            # A put-back is acknowledged in the queue that is read.
            log.extend(ack(offset, one.due) for offset in one.left())
            points.settled(one)

    for until in range(52):
        read(points, log)
        settle(until)
        while points.go_back(until):
            read(points, log)
            settle(until)
        done = set(back) | acked
        assert len(points) <= MOST
        assert all(dues[number] < until for number in back)
        first_left = next((n for n, due in enumerate(dues) if due >= until and n not in done), None)
        if first_left is not None:
            at = next(i for i, r in enumerate(log) if r == point(first_left, dues[first_left]))
            assert points.position < at
    assert sorted(back) == [number for number in range(len(dues)) if number not in acked]


def test_its_weight_is_taken_back() -> None:
    points = OpenCheckpoints(0, MOST, "b")
    for number in range(1000):
        points.note(point(number, 1), Place(number, 0, 0))
        one = points.take_due(2)
        assert isinstance(one, OpenCheckpoint)
        points.settled(one)
    assert points._weight == 0
