"""The clients of a group that read the same: each once, from anywhere, and no copy of them all."""

from trimq.broker.lite.subscribers import Subscriber, Subscribers


def readers_of(count: int) -> Subscribers:
    readers = Subscribers()
    for number in range(count):
        assert readers.add(Subscriber(str(number), "G"))
    return readers


def test_each_is_met_once_whoever_has_come_or_gone() -> None:
    readers = readers_of(20)
    assert not readers.add(Subscriber("3", "G"))
    for number in (0, 19, 7):
        assert readers.remove(Subscriber(str(number), "G"))
    assert not readers.remove(Subscriber("7", "G"))
    left = {Subscriber(str(number), "G") for number in range(20)} - {
        Subscriber(name, "G") for name in ("0", "19", "7")
    }
    met = list(readers.from_anywhere(1000))
    assert (len(met), set(met), len(readers)) == (17, left, 17)
    assert all(one in readers for one in left)


def test_few_have_no_table_of_their_places() -> None:
    readers = readers_of(3)
    assert readers._places is None
    assert readers.remove(Subscriber("0", "G"))
    assert list(readers) == [Subscriber("2", "G"), Subscriber("1", "G")]


def test_no_more_are_met_than_asked_for() -> None:
    assert len(list(readers_of(50).from_anywhere(5))) == 5
    assert list(Subscribers().from_anywhere(5)) == []
    beginnings = {next(readers_of(50).from_anywhere(5)) for _ in range(200)}
    assert len(beginnings) > 10
