"""Which failures of a start or a run have an explanation for the user, and what it says.

Everything else is a bug and keeps its traceback.
"""

from store.errors import StoreError
from trimq.endpoints import AddressError
from trimq.settings import SettingsError

EXPLAINED: tuple[type[Exception], ...] = (AddressError, SettingsError, StoreError)


def explained(errors: BaseExceptionGroup[BaseException]) -> list[str] | None:
    """The sentences to print, or None when any of the errors needs its traceback."""
    known, rest = errors.split(EXPLAINED)
    if rest is not None or known is None:
        return None
    return [str(error) for error in _leaves(known)]


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    found: list[BaseException] = []
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            found.extend(_leaves(error))
        else:
            found.append(error)
    return found
