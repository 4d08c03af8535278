"""What the first pops of a broker moved is known after a kill, though the offsets' file was never written since."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.processors.conftest import Broker
from tests.processors.pop.conftest import PopClient
from trimq.broker.config import BrokerConfig

FILES = {False: "consumerOffset.json", True: "lmqConsumerOffset.json"}


class Started(PopClient):
    """A broker's start on a store, and its client."""

    def __init__(self, root: Path, **settings: Any) -> None:
        broker = Broker(root, BrokerConfig(), **settings)
        broker.store.open()
        broker.parts.load()
        super().__init__(broker)
        broker.groups.find("G", "1.2.3.4:5")
        for part in broker.parts:
            # Who makes a topic or a group is not answered before it is in its file.
            if part.name in {"topics", "groups"} and part.close is not None:
                part.close()

    def popped(self) -> list[bytes]:
        found = self.bodies(self.pop())
        self.write()
        return found

    def kill(self) -> None:
        self.broker.parts.services["flush the timer wheel"].__self__._files.close()
        self.broker.store.abandon()


@pytest.mark.parametrize("light", FILES)
def test_nothing_comes_twice(tmp_path: Path, light: bool) -> None:
    settings = {"enable_lmq": light, "enable_multi_dispatch": light}
    first = Started(tmp_path, **settings)
    first.put(b"0", b"1")
    assert first.popped() == [b"0", b"1"]
    first.put(b"2")
    first.kill()
    second = Started(tmp_path, **settings)
    assert second.popped() == [b"2"]
    second.kill()


def test_nor_on_a_store_that_rocketmq_wrote(tmp_path: Path) -> None:
    """Its file says nothing of the log's end, and is written anew at the start."""
    first = Started(tmp_path)
    first.put(b"0", b"1", b"2")
    first.kill()
    path = tmp_path / "config" / FILES[False]
    path.write_text(json.dumps({"offsetTable": {"T@G": {"0": 1}}}))
    second = Started(tmp_path)
    assert second.popped() == [b"1", b"2"]
    second.put(b"3")
    second.kill()
    third = Started(tmp_path)
    assert third.popped() == [b"3"]
    third.kill()


def test_a_file_that_somebody_removed_makes_groups_begin_anew(tmp_path: Path) -> None:
    first = Started(tmp_path)
    first.put(b"0")
    assert first.popped() == [b"0"]
    first.kill()
    for path in (tmp_path / "config").glob(f"{FILES[False]}*"):
        path.unlink()
    second = Started(tmp_path)
    assert second.popped() == [b"0"]
    second.kill()
