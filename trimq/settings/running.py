"""A running server's settings as operators see and change them (remoting's Configuration).

One class for broker and NameServer. GET_*_CONFIG prints the settings in force as `key=value` lines,
sorted; keys of the config file that TriMQ does not know are among them. UPDATE_*_CONFIG changes some:
what is read each time takes effect at once, the rest at the next start, and the answer says which.
Changes go to the config file, or to one beside the store that the next start reads.
"""

import logging
import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Final

import trio

from trimq.base.clock import Clock
from trimq.broker.tables.data_version import new_version, next_version
from trimq.codec.bodies.base import encode_body
from trimq.codec.codes import ResponseCode
from trimq.codec.java.properties import write_properties
from trimq.remoting.contract import RemotingError
from trimq.settings.file import SettingsFile
from trimq.settings.former import current
from trimq.settings.parsing import Setting, SettingsError, settings_of, unknown_key
from trimq.settings.rocketmq import unheeded
from trimq.settings.sources import Sources
from trimq.store.errors import StoreError

log = logging.getLogger("trimq.admin")

MASK: Final = "******"
# What an unknown key may be called when its value is a secret.
_SECRET_NAME: Final = re.compile("password|secret|credential", re.IGNORECASE)
_BLACK_LIST_REMARK: Final = "Can not update config in black list."
# A remark and a log line name at most this many keys.
_MOST_NAMED: Final = 8


@dataclass(frozen=True, slots=True)
class _Change:
    """One setting to change: the config object that has it, and its new value."""

    config: Any
    setting: Setting
    value: Any
    text: str
    # Clients are told at once.
    is_announced: bool = False

    @property
    def is_live(self) -> bool:
        return self.setting.declaration.live or self.is_announced

    def apply(self) -> None:
        # The one exception from the configs being frozen.
        object.__setattr__(self.config, self.setting.attribute, self.value)


# Told of values to announce, by key, when they are in force.
Announce = Callable[[Mapping[str, Any]], None]


class RunningSettings:
    """The settings in force and the text that says them.

    Everybody reads a setting from the one config object when it is needed, so a change is written
    into that object; only this class may do that.
    """

    def __init__(
        self, configs: Sequence[Any], sources: Sources, clock: Clock, never: Iterable[str]
    ) -> None:
        """`never` are keys that nobody changes at run time, `configBlackList` among them."""
        self._found = {
            key: (config, setting)
            for config in configs
            for key, setting in settings_of(type(config)).items()
        }
        self._unheeded = unheeded()
        self._sources = sources
        self._never = frozenset(never)
        self._file = SettingsFile(sources.file) if sources.file is not None else None
        self._clock = clock
        self._listeners: list[Callable[[], None]] = []
        self._concerned: dict[str, Callable[[], None]] = {}
        self._saving = trio.Lock()
        self._version = new_version(clock)
        # Keys whose value in the file is not the one in force.
        self._pending: set[str] = set()
        self._texts = dict(sources.texts)
        for key, (config, setting) in self._found.items():
            self._keep_text(key, setting.text(getattr(config, setting.attribute)))
        self._texts |= sources.shown

    def _keep_text(self, key: str, text: str | None) -> None:
        if text is not None:
            self._texts[key] = text

    def add_listener(self, listener: Callable[[], None]) -> None:
        """Called after every update: for those who keep something derived from settings."""
        self._listeners.append(listener)

    def when_given(self, key: str, concerned: Callable[[], None]) -> None:
        """Call `concerned` after each update that names the key, whatever its value was."""
        self._concerned[key] = concerned

    @property
    def version(self) -> str:
        """Grows with every update, whatever it changed (DataVersion as JSON)."""
        return encode_body(self._version).decode()

    def text(self) -> str:
        """All settings in force, sorted by key (MixAll.properties2String); secrets are masked."""
        return write_properties({key: self._shown(key) for key in sorted(self._texts)})

    def _shown(self, key: str) -> str:
        text = self._texts[key]
        return MASK if text and self._is_secret(key) else text

    def _is_secret(self, key: str) -> bool:
        if key in self._found:
            return self._found[key][1].declaration.secret
        if key in self._unheeded:
            return self._unheeded[key].secret
        return _SECRET_NAME.search(key) is not None

    async def update(
        self, values: Mapping[str, str], announce: Announce | None = None
    ) -> str | None:
        """Take the values over and write them to the file; returns what has to be said about it.

        `announce`: whoever changes them may have other things announced, of which this is told.
        RemotingError when one of them is refused: then nothing has changed. A value that stays the
        same is accepted, whatever its key.
        """
        if not self._never.isdisjoint(values):
            raise RemotingError(ResponseCode.NO_PERMISSION, _BLACK_LIST_REMARK)
        given, former = current({key: text.strip() for key, text in values.items()})
        new = {key: text for key, text in given.items() if not self._is_as_before(key, text)}
        self._check_allowed(new, announce is not None)
        try:
            changes = [
                self._change(key, text, announce is not None)
                for key, text in new.items()
                if key in self._found
            ]
        except SettingsError as error:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, str(error)) from error
        for change in changes:
            self._take(change)
        others = new.keys() & self._texts.keys() - self._found.keys() - self._unheeded.keys()
        kept = {key: new[key] for key in others}
        self._texts |= kept
        next_version(self._version, self._clock)
        announced = {one.setting.key: one.value for one in changes if one.is_announced}
        if announce is not None and announced:
            announce(announced)
        for listener in self._listeners:
            listener()
        for key in self._concerned.keys() & values.keys():
            self._concerned[key]()
        for sentence in former:
            log.warning(sentence)
        said = [*former, *self._said_of(changes), *self._without_effect(new.keys() - kept.keys())]
        saved = {change.setting.key: change.text for change in changes} | kept
        for key in self._unsaved(announced):
            del saved[key]
        said += self._said_of_announced(announced, saved)
        said += await self._save(saved)
        return "; ".join(said) or None

    def _is_as_before(self, key: str, text: str) -> bool:
        """Whether the value is already in force and in the file, or is what is shown instead of a secret."""
        return (
            key not in self._pending
            and self._texts.get(key) is not None
            and self._shown(key) == text
        )

    def _check_allowed(self, values: Mapping[str, str], announcing: bool) -> None:
        rules = {key: one.declaration.refused for key, (_, one) in self._found.items()}
        rules |= {key: one.refusal for key, one in self._unheeded.items()}
        for key, text in values.items():
            rule = rules.get(key)
            sentence = rule.of(key, text) if rule is not None else None
            if sentence is not None:
                raise RemotingError(ResponseCode.SYSTEM_ERROR, sentence)
        guarded = [
            key
            for key in values
            if key in self._found
            and self._found[key][1].is_guarded
            and not (announcing and self._found[key][1].declaration.announced)
        ]
        guarded += [key for key in values if key not in self._found and self._is_secret(key)]
        if guarded:
            remark = (
                f"{_names(guarded)}: set where the server is started, not over the network"
                " (files, addresses, protection); nothing has changed"
            )
            raise RemotingError(ResponseCode.NO_PERMISSION, remark)

    def _change(self, key: str, text: str, announcing: bool) -> _Change:
        config, setting = self._found[key]
        announced = announcing and setting.declaration.announced
        return _Change(config, setting, setting.read(text), text, announced)

    def _take(self, change: _Change) -> None:
        key = change.setting.key
        if change.is_live:
            self._pending.discard(key)
            change.apply()
            self._keep_text(key, change.setting.text(change.value) or change.text)
        when = "at once" if change.is_live else "from the next start on"
        log.info("setting changed, in force %s: key=%s value=%s", when, key, change.text)

    def _said_of(self, changes: Sequence[_Change]) -> list[str]:
        later = [change.setting.key for change in changes if not change.is_live]
        self._pending |= set(later)
        return [f"{_names(later)}: in force from the next start on"] if later else []

    def _unsaved(self, announced: Collection[str]) -> list[str]:
        """What the next start would not read from the file."""
        if not self._sources.file_is_own:
            return []
        return [key for key in announced if self._found[key][1].is_guarded]

    def _said_of_announced(self, announced: Collection[str], saved: Container[str]) -> list[str]:
        said = []
        unsaved = [key for key in announced if key not in saved]
        if unsaved:
            said.append(f"{_names(unsaved)}: announced until this server stops")
        if "listenPort" in announced and "listenPort" in saved and self._file is not None:
            said.append(
                f"listenPort: announced; the next start with {self._file.path} listens there"
            )
        return said

    def _without_effect(self, keys: Set[str]) -> list[str]:
        """Answered with success, as by the real server: the remark and the log have to say it."""
        said = []
        for key in sorted(keys - self._found.keys())[:_MOST_NAMED]:
            if key in self._unheeded:
                said.append(f"{key} has no effect in TriMQ: {self._unheeded[key].reason}")
            else:
                said.append(unknown_key(key, self._found.keys() | self._unheeded.keys()))
        for sentence in said:
            log.warning(sentence)
        return said

    async def _save(self, kept: Mapping[str, str]) -> list[str]:
        """As the real one, a file that cannot be written is not an error; returns what to say."""
        if not kept:
            return []
        if self._file is None:
            return ["lost at the next start: there is no file to keep it in"]
        async with self._saving:
            try:
                await trio.to_thread.run_sync(self._file.change, dict(kept))
            except StoreError as error:
                log.error("settings not saved: reason=%s", error)
                return [f"lost at the next start, the file could not be written: {error}"]
        outvoted = sorted(self._sources.commanded & kept.keys())
        if outvoted:
            return [
                f"{_names(outvoted)}: lost at the next start if its command line (--set) names "
                "it again"
            ]
        return []


def _names(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - _MOST_NAMED} more" if len(keys) > _MOST_NAMED else ""
    return ", ".join(key[:100] for key in keys[:_MOST_NAMED]) + more
