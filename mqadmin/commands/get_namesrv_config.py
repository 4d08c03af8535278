"""getNamesrvConfig: the settings of every NameServer. Java: GetNamesrvConfigCommand."""

from trimq.mqadmin.framework import Run, admin_command
from trimq.mqadmin.text.java import hash_order
from trimq.mqadmin.text.listing import settings_order


@admin_command("getNamesrvConfig")
def command(run: Run) -> None:
    configs = run.admin.name_server_config()
    for addr in hash_order(configs, capacity=4):
        settings = configs[addr]
        run.out.line(f"============{addr}============")
        for key in settings_order(run, settings):
            run.out.line(f"{key:<50}=  {settings[key]}")
        run.out.value({"addr": addr, "settings": dict(sorted(settings.items()))})
