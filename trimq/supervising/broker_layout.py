"""Names, ports and stores of the brokers that one supervisor starts, and the stores that it refuses."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trimq.serving.several import has_messages
from trimq.settings.endpoints import Endpoint
from trimq.settings.options import ServerOptions, ServerPlan, server_plan
from trimq.settings.parsing import SettingsError

# A broker has its port, the one two below, and the one above.
PORT_STEP: Final = 10


@dataclass(frozen=True, slots=True)
class Member:
    """One broker of the family. ``listen`` has port 0 until it has picked one."""

    name: str
    store: Path
    listen: Endpoint
    advertise: Endpoint | None
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Family:
    """What the options say for all of them, and the members."""

    plan: ServerPlan
    members: list[Member]

    @property
    def root(self) -> Path:
        return self.plan.store.root


def family_of(options: ServerOptions, count: int) -> Family:
    """SettingsError for what cannot be meant for several brokers, or would leave messages behind."""
    if count < 1:
        raise SettingsError(f"--brokers {count}: at least one broker is needed")
    if options.advertise_file is not None:
        raise SettingsError(
            "--advertise-file is one address: with --brokers each broker needs its own; use --advertise, whose port"
            " counts up, or start each broker by itself"
        )
    # It says nothing about one broker's limits: the members' own plans do.
    plan = server_plan(dataclasses.replace(options, metrics=None))
    _refuse_settings(plan)
    root = plan.store.root
    name = plan.broker.broker_name
    members = []
    for at in range(count):
        own = f"{name}-{at}"
        members.append(
            Member(
                own,
                root / own,
                _shifted(plan.listen, at),
                None if plan.advertise is None else _shifted(plan.advertise, at),
                _settings(options, plan, own, at),
            )
        )
    _refuse_stores(root, [member.name for member in members])
    return Family(plan, members)


def _shifted(endpoint: Endpoint, at: int) -> Endpoint:
    if endpoint.port == 0:
        return endpoint
    return Endpoint(endpoint.host, endpoint.port + PORT_STEP * at)


def _settings(options: ServerOptions, plan: ServerPlan, name: str, at: int) -> dict[str, str]:
    settings = {**options.settings, "brokerName": name}
    if plan.replication.ha_listen_port:
        settings["haListenPort"] = str(plan.replication.ha_listen_port + PORT_STEP * at)
    return settings


def _refuse_settings(plan: ServerPlan) -> None:
    for key in plan.sources.texts:
        if key.startswith("storePath") and key != "storePathRootDir":
            raise SettingsError(
                f"{key}: with --brokers each broker has its own store below --store; leave it out"
            )
    if plan.is_slave:
        raise SettingsError(
            "brokerRole=SLAVE: --brokers starts masters; start each slave by itself, with its master's brokerName"
        )


def _refuse_stores(root: Path, names: list[str]) -> None:
    if has_messages(root):
        raise SettingsError(
            f"{root} is the store of a single broker: start it without --brokers, or make it the first of several by"
            f" moving it to {root / names[0]} and starting with --set brokerName={names[0].rpartition('-')[0]}"
        )
    if not root.is_dir():
        return
    left = sorted(
        path.name for path in root.iterdir() if path.name not in names and has_messages(path)
    )
    if left:
        raise SettingsError(
            f"{', '.join(left)} in {root} would be left behind with their messages: start with more --brokers, or"
            " read them to the end, each started by itself, and move the folder away"
        )
