"""Settings, seen and changed while the NameServer runs."""

from trimq.processors.namesrv.settings.get_namesrv_config import GetNamesrvConfig
from trimq.processors.namesrv.settings.update_namesrv_config import UpdateNamesrvConfig
from trimq.settings.running import RunningSettings
from trimq.wiring.part import Part


def part(settings: RunningSettings) -> Part:
    return Part(
        name="settings",
        processors=[UpdateNamesrvConfig(settings), GetNamesrvConfig(settings)],
    )
