"""Which failures of a start or a run have an explanation for the user, and what it says.

Everything else is a bug and keeps its traceback.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from trimq.base.user_ids import user_ids
from trimq.broker.tables.file import TableDamaged
from trimq.settings.endpoints import AddressError, AddressSyntaxError
from trimq.settings.parsing import SettingsError
from trimq.store.errors import StoreDamaged, StoreError

_DAMAGED = (
    "Nothing was changed: 'trimq check STORE' says what is affected, and docs/durability.md, under"
    " 'A store that is refused', how to go on"
)


class ChildFailed(RuntimeError):
    """A broker of several ended before it was ready for the first time; it has said why."""


EXPLAINED: tuple[type[Exception], ...] = (
    AddressError,
    ChildFailed,
    PermissionError,
    SettingsError,
    StoreError,
    TableDamaged,
)


def explained(errors: BaseExceptionGroup[BaseException]) -> list[str] | None:
    """The sentences to print, or None when any of the errors needs its traceback."""
    known, rest = errors.split(EXPLAINED)
    if rest is not None or known is None:
        return None
    return [_sentence(error) for error in _leaves(known)]


def _sentence(error: BaseException) -> str:
    if isinstance(error, StoreDamaged):
        return f"{error}. {_DAMAGED}"
    if _is_refused(error):
        return f"{error} ({user_ids()})"
    return str(error)


def _is_refused(error: BaseException | None) -> bool:
    """Whether it is, or comes from, a file that this user may not use."""
    while error is not None:
        if isinstance(error, PermissionError):
            return True
        error = error.__cause__
    return False


def is_usage(errors: BaseExceptionGroup[BaseException]) -> bool:
    """Whether the user gave something wrong (exit code 2), or it just failed (1)."""
    return all(isinstance(error, SettingsError | AddressSyntaxError) for error in _leaves(errors))


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    found: list[BaseException] = []
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            found.extend(_leaves(error))
        else:
            found.append(error)
    return found


@asynccontextmanager
async def explained_plainly() -> AsyncIterator[None]:
    """Unwrap a lone explained error from the groups that nurseries wrap around it."""
    try:
        yield
    except BaseExceptionGroup as group:
        leaves = _leaves(group)
        if len(leaves) == 1 and isinstance(leaves[0], EXPLAINED):
            # Without the groups, and with what it came from.
            raise leaves[0] from leaves[0].__cause__
        raise
