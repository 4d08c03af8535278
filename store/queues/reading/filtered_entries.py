"""What a pull with a filter takes of a plain queue's entries, as far as store.native can look at their records.

What is not in memory, is gone or is damaged is left to `Pull.look_at`, an entry at a time.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from trimq.codec.entries.queue import ENTRY_SIZE, place_at
from trimq.store import native
from trimq.store.native.picks import BEYOND, FULL, PUT_OFF
from trimq.store.queues.reading.pull import Pull, ReadStatus


def pick(pull: Pull, data: bytes) -> int:
    """How many of these entries have been looked at; -1: enough of them, the pull is full or has to pause.

    None of them may be told from the others by its tags code.
    """
    sieve, result, log = pull.sieve, pull.result, pull.log
    assert sieve is not None
    done = 0
    while done * ENTRY_SIZE < len(data):
        rest = data[done * ENTRY_SIZE :] if done else data
        offset, size = place_at(rest)
        low = max(log.min_offset, pull.skip_before)
        if offset < low or not log.contains(offset, size):
            return done
        piece = sieve.piece(offset, size)
        if piece is None:
            return done
        found = native.pick_entries(
            rest,
            pull.limits.all,
            (low, log.written),
            (pull.max_messages, pull.max_bytes),
            (piece, offset),
            (result.pack(), result.message_count),
            sieve.filter.verdicts,
            sieve.ask,
        )
        if found is None:
            return done
        packed, looked_at, messages, total, last, end, reason, spent = found
        if looked_at:
            sieve.picked(looked_at, spent)
            pull.last_record = last
            result.next_begin_offset += looked_at
            if messages > result.message_count:
                result.take(packed, messages, total, end)
                pull.skip_before = -1
            result.miss(ReadStatus.NO_MATCHED_MESSAGE)
            done += looked_at
        if reason in (FULL, PUT_OFF):
            return -1
        # The first of them lies in the piece.
        if reason != BEYOND or not looked_at:
            return done
    return done
