"""A running broker's settings as operators see and change them (remoting's Configuration).

GET_BROKER_CONFIG prints every setting as `key=value` lines, sorted; keys of the config file that
TriMQ does not know are kept among them. UPDATE_BROKER_CONFIG changes some, and the whole text
replaces the config file, whose version before becomes its `.bak`.
"""

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import trio

from trimq.broker.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.data_version import new_version, next_version
from trimq.codec.bodies.base import encode_body
from trimq.options import ServerPlan
from trimq.settings import keys_of, unknown_keys, value_of
from trimq.store.config import StoreConfig
from trimq.store.errors import StoreError
from trimq.store.json_files import ConfigFile

log = logging.getLogger("trimq.admin")

# AdminBrokerProcessor.initConfigBlackList, and configBlackList's default.
_NEVER_AT_RUNTIME: Final = frozenset({"brokerConfigPath", "rocketmqHome", "configBlackList"})
# What the broker is known by, or was built with: a change of these waits for the next start.
_FIXED_NAMES: Final = """
    broker_cluster_name broker_name broker_id broker_role namesrv_addr listen_port broker_ip1
    broker_ip2 default_topic_queue_nums trace_topic_enable msg_trace_topic_name revive_queue_num
    flush_consumer_offset_interval register_broker_timeout_mills
    delay_offset_update_version_step
"""
# Of the store's settings these are looked at anew each time; the others it was opened with.
_LIVE_NAMES: Final = """
    flush_interval_commit_log flush_commit_log_least_pages flush_commit_log_thorough_interval
    flush_interval_consume_queue checkpoint_bytes default_query_max_num file_reserved_time
    delete_when clean_file_forcibly_enable clean_resource_interval delete_file_batch_max
    delete_commit_log_files_interval delete_consume_queue_files_interval
    destroy_maped_file_interval_forcibly redelete_hanged_file_interval
"""
_FIXED: Final = frozenset(_FIXED_NAMES.split())
_LIVE_IN_STORE: Final = frozenset(_LIVE_NAMES.split())
# In the file, but told to nobody who asks.
_HIDDEN: Final = frozenset({"tls.server.keyPassword", "tls.client.keyPassword"})
_WHOLE_NUMBER: Final = re.compile(r"[+-]?\d+")


class BrokerSettings:
    """The settings in force and the text that says them.

    Everybody reads a setting from the one config object when it is needed, so a change is put into
    that object; nobody else may do that. `on_permission` is called when brokerPermission was given.
    """

    def __init__(
        self,
        plan: ServerPlan,
        shown: Mapping[str, str],
        clock: Clock,
        on_permission: Callable[[], None],
    ) -> None:
        """`shown` are texts of settings whose value was found out at the start."""
        self._configs = (plan.broker, plan.store, plan.server, plan.tls)
        self._file = ConfigFile(plan.config_file or plan.store.root / "config/broker.properties")
        self._is_read_at_start = plan.config_file is not None
        self._clock = clock
        self._on_permission = on_permission
        self._listeners: list[Callable[[], None]] = []
        self._saving = trio.Lock()
        self._version = new_version(clock)
        self._texts = dict(plan.given)
        for config in self._configs:
            self._texts |= _texts_of(config, plan.given)
        self._texts |= shown

    def add_listener(self, listener: Callable[[], None]) -> None:
        """Called after every update: for those who keep what they have worked out of settings."""
        self._listeners.append(listener)

    @property
    def version(self) -> str:
        """Grows with every update, whatever it has changed (DataVersion as JSON)."""
        return encode_body(self._version).decode()

    def text(self) -> str:
        """All settings but secrets, sorted by key (MixAll.properties2String)."""
        return self._lines(self._texts.keys() - _HIDDEN)

    def _lines(self, keys: Iterable[str]) -> str:
        return "".join(f"{key}={self._texts[key]}\n" for key in sorted(keys))

    def refused(self, keys: Mapping[str, str]) -> bool:
        """Whether one of these keys cannot be changed at run time."""
        return not _NEVER_AT_RUNTIME.isdisjoint(keys)

    async def update(self, values: Mapping[str, str]) -> None:
        """Take over what is known and readable and write the file; the rest stays as it was.

        SettingsError for a value outside of its limits: then nothing has changed.
        """
        changes = [self._change(key, text) for key, text in values.items()]
        for config, name, value, key, text in filter(None, changes):
            self._apply(config, name, value)
            self._texts[key] = text
        for key in values.keys() & self._texts.keys():
            if self._declaring(key) is None:
                self._texts[key] = values[key]
        # Answered with success, as by the real broker: the log has to say it.
        for warning in unknown_keys(values, map(type, self._configs), self._texts):
            log.warning(warning)
        next_version(self._version, self._clock)
        for listener in self._listeners:
            listener()
        if "brokerPermission" in values:
            self._on_permission()
        await self._save()

    def _declaring(self, key: str) -> Any:
        return next((config for config in self._configs if key in keys_of(type(config))), None)

    def _change(self, key: str, text: str) -> tuple[Any, str, Any, str, str] | None:
        """Config, attribute, value, key and text; None when there is nothing to take over.

        As MixAll.properties2Object reads it: what is not `true` is false, what is no number counts
        as not given.
        """
        config = self._declaring(key)
        if config is None:
            return None
        field = keys_of(type(config))[key]
        text = text.strip()
        old = getattr(config, field.name)
        if isinstance(old, bool):
            text = str(text.lower() == "true").lower()
        elif isinstance(old, int) and not _WHOLE_NUMBER.fullmatch(text):
            log.warning("setting kept, not a whole number: key=%s value=%s", key, text)
            return None
        return config, field.name, value_of(type(config), key, text), key, text

    def _apply(self, config: Any, name: str, value: Any) -> None:
        at_once = _is_live(config, name)
        if at_once:
            # The one exception from the configs being frozen.
            object.__setattr__(config, name, value)
        when = "at once" if at_once else "from the next start on"
        log.info("setting changed: name=%s value=%s in force %s", name, value, when)

    async def _save(self) -> None:
        """As the real one, a file that cannot be written is logged, not answered."""
        async with self._saving:
            try:
                await trio.to_thread.run_sync(self._write, self._lines(self._texts).encode())
            except StoreError as error:
                log.error("settings not saved: %s", error)
                return
        if not self._is_read_at_start:
            log.warning(
                "settings saved, but not read at the next start without --config %s",
                self._file.path,
            )

    def _write(self, data: bytes) -> None:
        """Blocks. Whoever could not read the file before cannot read it afterwards."""
        path, backup = self._file.path, self._file.backup
        mode = path.stat().st_mode if path.exists() else None
        self._file.save(data)
        if mode is not None:
            path.chmod(mode)
            if backup.exists():
                backup.chmod(mode)


def _is_live(config: Any, name: str) -> bool:
    if isinstance(config, BrokerConfig):
        return name not in _FIXED
    return isinstance(config, StoreConfig) and name in _LIVE_IN_STORE


def _texts_of(config: Any, given: Mapping[str, str]) -> dict[str, str]:
    """Settings as a config file would say them; those without a value are left out."""
    texts: dict[str, str] = {}
    for key, field in keys_of(type(config)).items():
        value = getattr(config, field.name)
        if "parse" in field.metadata:
            texts[key] = given.get(key, field.metadata["shown"].strip("`"))
        elif value is not None:
            texts[key] = str(value).lower() if isinstance(value, bool) else str(value)
    return texts
