"""Bodies of the requests about elastic topics, and of their answers."""

import msgspec

from trimq.codec.bodies.base import Body, Int32, Int64


class ElasticCreate(Body, kw_only=True):
    """Asks for ELASTIC_CREATE: a new topic with so many queues, or an existing one as it is (0).

    `dry_run`: refused as ever, but nothing is changed.
    """

    dry_run: bool = False
    queues: Int32 = 0


class ElasticScale(Body, kw_only=True):
    """Asks for ELASTIC_SCALE: so many queues.

    `now` does not wait for groups that have not passed the changes before; `ignore` names groups
    that need not have.
    """

    dry_run: bool = False
    ignore: list[str] = msgspec.field(default_factory=list)
    now: bool = False
    queues: Int32 = 0


class ElasticMove(Body, kw_only=True):
    """Asks for ELASTIC_MOVE: partitions of a queue to another one.

    A receiver of -1 is a new queue. Without `partitions` every second one goes; `merge` moves all.
    """

    dry_run: bool = False
    merge: bool = False
    partitions: list[Int32] = msgspec.field(default_factory=list)
    queue: Int32 = 0
    receiver: Int32 = -1


class ElasticPlan(Body, kw_only=True):
    """Answers them: the changes that are to come, each LP -> receiver."""

    moves: list[dict[Int32, Int32]] = msgspec.field(default_factory=list)


class ElasticWait(Body, kw_only=True):
    """A change that a group has not passed: a donor that it has not read to the end.

    `since`: when the change came. `last_commit`: of the donor by the group. In milliseconds since 1970; 0: unknown.
    """

    committed: Int64 = 0
    end: Int64 = 0
    last_commit: Int64 = 0
    # The client that has the donor locked.
    owner: str | None = None
    queue: Int32 = 0
    since: Int64 = 0
    version: Int32 = 0


class ElasticGroup(Body, kw_only=True):
    """A group that reads the topic in order."""

    group: str = ""
    members: Int32 = 0
    passed: list[Int32] = msgspec.field(default_factory=list)
    waits: list[ElasticWait] = msgspec.field(default_factory=list)


class ElasticQueue(Body, kw_only=True):
    """A physical queue: how many partitions lie in it, its offsets, and messages a second lately."""

    max_offset: Int64 = 0
    min_offset: Int64 = 0
    partitions: Int32 = 0
    queue: Int32 = 0
    rate: float = 0.0


class ElasticLoad(Body, kw_only=True):
    """A partition that has got messages: its queue, how many since the broker's start, and a second lately."""

    messages: Int64 = 0
    partition: Int32 = 0
    queue: Int32 = 0
    rate: float = 0.0


class ElasticVersion(Body, kw_only=True):
    """A change that is not forgotten: donors' ends, receivers' starts, how many LPs moved."""

    ends: dict[Int32, Int64] = msgspec.field(default_factory=dict)
    moved: Int32 = 0
    starts: dict[Int32, Int64] = msgspec.field(default_factory=dict)
    version: Int32 = 0


class ElasticProducer(Body, kw_only=True):
    """A connection that has used queues of a converted topic's old list alone.

    So many sends since then (milliseconds since 1970). `client_id`: by its heartbeat, if one came.
    """

    address: str = ""
    client_id: str | None = None
    sends: Int64 = 0
    since: Int64 = 0


class ElasticView(Body, kw_only=True):
    """Answers ELASTIC_SHOW."""

    changes: list[ElasticVersion] = msgspec.field(default_factory=list)
    groups: list[ElasticGroup] = msgspec.field(default_factory=list)
    loads: list[ElasticLoad] = msgspec.field(default_factory=list)
    old_producers: list[ElasticProducer] = msgspec.field(default_factory=list)
    # Write queues of a topic that was there before, as old lists have them; 0: it was not, or it is not known.
    old_queues: Int32 = 0
    partitions: Int32 = 0
    # Changes that are still to come; `stage` says what they wait for, or what becomes of queues at the end.
    pending: Int32 = 0
    queues: list[ElasticQueue] = msgspec.field(default_factory=list)
    stage: str | None = None
    topic: str = ""
    version: Int32 = 0
