"""Where each delay level's messages are (ScheduleMessageService).

The levels themselves are the store's setting `messageDelayLevel`: level 1 is its first word.
"""


def queue_of_level(level: int) -> int:
    """SCHEDULE_TOPIC_XXXX keeps each level in a queue of its own."""
    return level - 1


def level_of_queue(queue_id: int) -> int:
    return queue_id + 1
