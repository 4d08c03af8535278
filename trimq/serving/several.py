"""A folder with the stores of several brokers is no store of a single one."""

import re
from pathlib import Path
from typing import Final

from trimq.settings.parsing import SettingsError

_NUMBERED: Final = re.compile(r".+-\d+")


def check_not_several(root: Path) -> None:
    """SettingsError if `trimq server --brokers` wrote here: an empty store beside theirs would hide their messages."""
    if has_messages(root):
        return
    found = sorted(
        path.name
        for path in root.iterdir()
        if _NUMBERED.fullmatch(path.name) and has_messages(path)
    )
    if found:
        raise SettingsError(
            f"{root} has the stores of several brokers ({', '.join(found)}): start them with --brokers, or one of them"
            f" by itself with --store {root / found[0]} --set brokerName={found[0]}"
        )


def has_messages(store: Path) -> bool:
    """Whether a folder is a store with a commit log."""
    log = store / "commitlog"
    return log.is_dir() and any(path.name.isdigit() for path in log.iterdir())
