"""The NameServer's settings under RocketMQ's own key names (NamesrvConfig).

RocketMQ's thread pool sizes and queue lengths have no counterpart here: one loop serves all.
"""

import dataclasses
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trimq.store.errors import StoreError
from trimq.store.json_files import ConfigFile
from trimq.store.settings import computed_setting, setting

_log: Final = logging.getLogger("trimq.namesrv")

# DefaultRequestProcessor refuses these whatever configBlackList says.
_NEVER_AT_RUNTIME: Final = frozenset(
    {"configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome"}
)


def _default_folder() -> Path:
    """Where the real NameServer keeps its files."""
    return Path.home() / "namesrv"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesrvConfig:
    """One state of the settings; a runtime change makes a new one (see NamesrvSettings)."""

    kv_config_path: Path = computed_setting(
        lambda: _default_folder() / "kvConfig.json", "File of the key-value configuration."
    )
    config_store_path: Path = computed_setting(
        lambda: _default_folder() / "namesrv.properties",
        "File that runtime changes are written to.",
    )
    order_message_enable: bool = setting(
        False, "Put a topic's ordered-topic configuration into its route."
    )
    return_order_topic_config_to_broker: bool = setting(
        True, "Answer a broker's registration with the list of ordered topics."
    )
    scan_not_active_broker_interval: int = setting(
        5000, "Milliseconds between two searches for silent brokers.", at_least=100
    )
    support_acting_master: bool = setting(
        False, "Name the slave with the lowest id as master while a group has none."
    )
    enable_all_topic_list: bool = setting(True, "Answer requests for the list of all topics.")
    enable_topic_list: bool = setting(
        True, "Answer requests for the topics of a cluster and for unit topics."
    )
    notify_min_broker_id_changed: bool = setting(
        False, "Tell the members of a broker group when its lowest broker id changes."
    )
    need_wait_for_service: bool = setting(
        False, "Refuse route requests for a while after the start."
    )
    wait_seconds_for_service: int = setting(
        45, "Seconds to refuse route requests for (needWaitForService).", at_least=0
    )
    delete_topic_with_broker_registration: bool = setting(
        False, "Forget a broker's topics that are missing from its registration."
    )
    config_black_list: str = setting(
        "configBlackList;configStorePath;kvConfigPath",
        "Keys that cannot be changed at run time, separated by semicolons.",
    )


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


_FIELDS: Final = {_camel(item.name): item.name for item in dataclasses.fields(NamesrvConfig)}


class NamesrvSettings:
    """The settings in force, which UPDATE_NAMESRV_CONFIG replaces while the server runs.

    ``shown`` are settings of other parts (``listenPort`` ...) that are printed with these.
    Every change writes the whole text to configStorePath (remoting's Configuration.persist).
    """

    def __init__(self, config: NamesrvConfig, shown: Mapping[str, str] | None = None) -> None:
        self.current = config
        self._shown = dict(shown or {})
        self._refused = _NEVER_AT_RUNTIME | set(config.config_black_list.split(";"))

    def refused(self, keys: Mapping[str, str]) -> bool:
        """Whether one of these keys cannot be changed at run time."""
        return any(key in self._refused for key in keys)

    def update(self, values: Mapping[str, str]) -> None:
        """Take over what is known and readable; like the real one, leave the rest as it was."""
        for key, text in values.items():
            name = _FIELDS.get(key)
            if name is None:
                continue
            try:
                value = _parse(text, getattr(self.current, name))
            except ValueError:
                _log.warning("setting kept, not a whole number: key=%s value=%s", key, text)
                continue
            changed: dict[str, Any] = {name: value}
            self.current = dataclasses.replace(self.current, **changed)
            _log.info("setting changed: key=%s value=%s", key, text)
        self._persist()

    def text(self) -> str:
        """All settings as ``key=value`` lines, sorted by key (MixAll.properties2String)."""
        shown = dict(self._shown)
        for key, name in _FIELDS.items():
            shown[key] = _format(getattr(self.current, name))
        return "".join(f"{key}={shown[key]}\n" for key in sorted(shown))

    def _persist(self) -> None:
        try:
            ConfigFile(self.current.config_store_path).save(self.text().encode())
        except StoreError as error:
            _log.error("settings not saved: reason=%s", error)


def _parse(text: str, old: object) -> object:
    if isinstance(old, bool):
        return text.lower() == "true"
    if isinstance(old, int):
        return int(text)
    return Path(text) if isinstance(old, Path) else text


def _format(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
