"""What flags and settings come to."""

from pathlib import Path

from trimq.endpoints import Endpoint
from trimq.options import ServerOptions, server_plan


def test_a_server_is_open_to_this_machine_only(tmp_path: Path) -> None:
    plan = server_plan(ServerOptions(store=tmp_path))
    assert plan.listen == Endpoint("127.0.0.1", 10911)
    assert plan.namesrv_listen == Endpoint("127.0.0.1", 9876)
