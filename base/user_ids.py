"""Who this process is, for a sentence about a file that it may not use: a container's user often has no name."""

import os


def user_ids() -> str:
    """`user id 3000, group ids 0 3000`"""
    groups = sorted({os.getegid(), *os.getgroups()})
    word = "id" if len(groups) == 1 else "ids"
    return f"user id {os.geteuid()}, group {word} {' '.join(map(str, groups))}"
