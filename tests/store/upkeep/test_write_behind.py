"""Consume queues are written behind in short steps, whatever the disk takes for each."""

from itertools import count

from trimq.store.upkeep.write_behind import WRITE_SECONDS

QUEUES = 20


def test_a_step_ends_when_its_time_is_over(bench, monkeypatch):
    """New files take ten times as long where thousands have just been deleted, as by ext4."""
    clock = count()
    # The second queue that is written takes it over its end.
    monkeypatch.setattr(
        "trimq.store.queues.queues.perf_counter", lambda: next(clock) * WRITE_SECONDS * 0.6
    )
    store = bench.open()
    for queue_id in range(QUEUES):
        store.put(bench.message(b"x", queue_id=queue_id))
    steps = [len(made(bench))]
    while store.write_derived():
        steps.append(len(made(bench)))
    steps.append(len(made(bench)))
    assert steps == list(range(0, QUEUES + 1, 2))


def made(bench):
    return list((bench.root / "consumequeue").glob("T/*/*"))


def test_what_a_checkpoint_has_synced_is_not_kept(bench):
    """Of a hundred thousand queues it is much, and was freed in one step of the loop by the next one."""
    store = bench.open()
    store.put(bench.message(b"x"))
    while store.write_derived():
        pass
    plan = store.plan_checkpoint()
    assert plan.files
    plan.run()
    assert plan.done
    assert not plan.files | plan.directories
