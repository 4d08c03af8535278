"""Have the real RocketMQ write the stores anew, and answer what it is asked about them.

    python -m compat_tests.store.recorded.record [NAME...]

Needs what `make proof` needs; TRIMQ_REFERENCE says which version it is. A store and its answers are kept
only when the real broker, started again over what it had left, has given them.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import traceback
from functools import partial
from pathlib import Path
from typing import Any, Final

from compat_tests.comparing.records import FOLDER
from compat_tests.servers import containers
from compat_tests.servers.processes import HOST
from compat_tests.servers.real import RealBroker
from compat_tests.servers.server import Options
from compat_tests.servers.versions import REFERENCE
from compat_tests.store.recorded.asking import Asking, Entry, stage_of
from compat_tests.store.recorded.author import Author
from compat_tests.store.recorded.catalogue import RECIPES
from compat_tests.store.recorded.deltas import restored, shortened
from compat_tests.store.recorded.later import arrived
from compat_tests.store.recorded.packing import pack
from compat_tests.store.recorded.recipe import Recipe
from compat_tests.store.turns import is_written
from tests.patience import until

RECORDED: Final = FOLDER / "store"
LOOPBACK_6: Final = "::1"
TABLES: Final = ("consumerOffset.json", "delayOffset.json")


def record(recipe: Recipe, home: Path) -> tuple[bytes, dict[str, Any]]:
    """The packed store, and what its broker says about it."""
    broker = RealBroker(containers.launcher(), home, f"{HOST}:1", Options(recipe.settings))
    try:
        author = write(broker, recipe)
        packed = pack(broker.store)
        broker.start()
        with stage_of(broker.addr) as stage:
            author.stage = stage
            asked, appended = Asking(stage), Asking(stage)
            recipe.ask(author, asked)
            recipe.go_on(author, appended)
            came = arrived(stage, list(recipe.arrivals))
    finally:
        broker.kill()
    assert [len(found) for found in came] == [count for _, count in recipe.arrivals], came
    answers = {
        "settings": recipe.settings,
        "killed": recipe.kill,
        "answers": asked.entries,
        "appended": appended.entries,
        "arrivals": [
            {**entry, "found": found}
            for (entry, _), found in zip(recipe.arrivals, came, strict=True)
        ],
    }
    return packed, answers


def write(broker: RealBroker, recipe: Recipe) -> Author:
    usual, addr = broker.settings, broker.addr
    if recipe.ipv6:
        broker.settings = {**usual, "bindAddress": LOOPBACK_6, "brokerIP1": LOOPBACK_6}
        addr = addr.replace(HOST, LOOPBACK_6)
    broker.start()
    broker.settings = usual
    with stage_of(addr) as stage:
        author = Author(stage)
        recipe.write(author)
    if recipe.kill:
        wait_for_tables(broker.store)
        broker.kill()
    else:
        broker.stop()
    return author


def wait_for_tables(store: Path) -> None:
    """The tables are written every few seconds: a killed broker has lost what was not."""
    began = time.time()
    for name in TABLES:
        until(partial(is_written, store / "config" / name, began), f"{name} is written")


def text(answers: dict[str, Any]) -> str:
    """A line for each question, so that a diff shows what is answered otherwise."""
    lines = []
    for name, value in shortened(answers).items():
        whole = _lines(value) if isinstance(value, list) else _compact(value)
        lines.append(f"{json.dumps(name)}: {whole}")
    return "{" + ",\n".join(lines) + "}\n"


def load(name: str) -> dict[str, Any]:
    """What the real broker says about a store, by its version and the name of its file."""
    said: dict[str, Any] = restored(json.loads((RECORDED / f"{name}.json").read_bytes()))
    return said


def _lines(entries: list[Entry]) -> str:
    return "[\n" + ",\n".join(_compact(entry) for entry in entries) + "\n]"


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=[one.file for one in RECIPES])
    chosen = parser.parse_args().names
    (RECORDED / REFERENCE).mkdir(parents=True, exist_ok=True)
    failed = []
    for recipe in RECIPES:
        if recipe.file in chosen:
            try:
                keep(recipe)
            except Exception:
                # The others do not depend on it.
                traceback.print_exc()
                failed.append(recipe.file)
    if failed:
        raise SystemExit(f"not recorded: {', '.join(failed)}")


def keep(recipe: Recipe) -> None:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        packed, answers = record(recipe, Path(folder))
    (RECORDED / REFERENCE / f"{recipe.file}.zst").write_bytes(packed)
    (RECORDED / REFERENCE / f"{recipe.file}.json").write_text(text(answers))
    seconds = time.monotonic() - began
    print(f"{recipe.file}: {len(packed)} bytes, {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
