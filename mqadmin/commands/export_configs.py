"""exportConfigs: the settings of a cluster's masters that matter for its size, to a file.

Java: ExportConfigsCommand.
"""

from typing import Final

import click

from trimq.codec.names import MASTER_ID
from trimq.mqadmin.files.exports import folder_option, write_export
from trimq.mqadmin.framework import Run, admin_command
from trimq.mqadmin.text.java import properties_order, string_map

_EXPORTED: Final = [
    "brokerClusterName",
    "brokerId",
    "brokerName",
    "brokerRole",
    "fileReservedTime",
    "filterServerNums",
    "flushDiskType",
    "maxMessageSize",
    "messageDelayLevel",
    "msgTraceTopicName",
    "slaveReadEnable",
    "traceOn",
    "traceTopicEnable",
    "useTLS",
    "autoCreateTopicEnable",
    "autoCreateSubscriptionGroup",
]


@admin_command("exportConfigs")
@click.option("-c", "--clusterName", "cluster", required=True, help="The cluster.")
@folder_option
def command(run: Run, cluster: str, folder: str) -> None:
    configs: dict[str, dict[str, str]] = {}
    slaves = 0
    for name, ids in run.admin.members(cluster).items():
        slaves += len(ids.keys() - {MASTER_ID})
        if MASTER_ID not in ids:
            continue
        settings = run.admin.broker_config(ids[MASTER_ID])
        told = [key for key in _EXPORTED if key in settings]
        configs[settings.get("brokerName", name)] = {
            key: settings[key] for key in properties_order(told)
        }
    scale = {
        "namesrvSize": len(run.admin.name_servers),
        "masterBrokerSize": len(configs),
        "slaveBrokerSize": slaves,
    }
    result = {"brokerConfigs": string_map(configs), "clusterScale": string_map(scale)}
    write_export(run, folder, "configs.json", string_map(result))
