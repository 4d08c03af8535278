"""How RocketMQ lays bytes out is said in codec/ and nowhere else."""

import ast
from pathlib import Path

from tests.layers import LAYERS

ROOT = Path(__file__).parents[2]
# What is packed there is not RocketMQ's: the PROXY protocol's preamble, the system's struct of a lock.
OTHERS = {"remoting/wire/proxy_protocol.py", "store/disk/system.py"}
PACKING = {"Struct", "pack", "pack_into", "unpack", "unpack_from", "iter_unpack", "calcsize"}
NUMBERS = {"from_bytes", "to_bytes"}


def test_no_module_outside_the_codec_has_a_layout() -> None:
    found = {}
    looked = 0
    for layer in (*LAYERS, "trimq"):
        for path in (ROOT / layer).rglob("*.py"):
            name = path.resolve().relative_to(ROOT).as_posix()
            if name.startswith("codec/"):
                continue
            looked += 1
            if layouts := _layouts(path.read_text()):
                found[name] = layouts
    assert looked > 400
    assert found.keys() == OTHERS, found


def _layouts(text: str) -> list[str]:
    if not any(word in text for word in ("struct", *NUMBERS)):
        return []
    tree = ast.parse(text)
    modules = {
        (item.asname or item.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for item in node.names
        if item.name in ("struct", "construct")
    }
    names = {
        (item.asname or item.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in ("struct", "construct")
        for item in node.names
    }
    return [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _packs(node.func, modules, names)
    ]


def _packs(function: ast.expr, modules: set[str], names: set[str]) -> bool:
    if isinstance(function, ast.Name):
        return function.id in names
    if not isinstance(function, ast.Attribute):
        return False
    of_struct = isinstance(function.value, ast.Name) and function.value.id in modules
    return function.attr in NUMBERS or (of_struct and function.attr in PACKING)


def test_a_layout_is_found() -> None:
    assert _layouts("import struct\nA = struct.Struct('>q')")
    assert _layouts("from struct import Struct as S\nA = S('>q')")
    assert _layouts("size = int.from_bytes(data[:4], 'big')")
    assert not _layouts("from msgspec import Struct\nclass A(Struct): ...")
