"""Key-value configuration, which clients keep in NameServers."""

from trimq.namesrv.kv_config import KVConfig
from trimq.processors.namesrv.kv_config.delete_kv_config import DeleteKvConfig
from trimq.processors.namesrv.kv_config.get_kv_config import GetKvConfig
from trimq.processors.namesrv.kv_config.get_kvlist_by_namespace import GetKvlistByNamespace
from trimq.processors.namesrv.kv_config.put_kv_config import PutKvConfig
from trimq.wiring.part import Part


def part(kv_config: KVConfig) -> Part:
    return Part(
        name="kv_config",
        processors=[
            PutKvConfig(kv_config),
            GetKvConfig(kv_config),
            DeleteKvConfig(kv_config),
            GetKvlistByNamespace(kv_config),
        ],
        load=kv_config.load,
    )
