"""Make the modules of proxy/protos anew from the .proto files beside them: ``python -m building.protos``.

Needs grpcio-tools, in the version that the `test` extra names: newer ones write modules that want a newer protobuf.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
# As they are imported: the folder is linked into `trimq`.
FOLDER: Final = "trimq/proxy/protos"
NAMES: Final = ("definition", "service")


def generate(into: Path) -> None:
    """Write `into`/trimq/proxy/protos/*_pb2.py and their .pyi; RuntimeError when protoc refuses a file."""
    from grpc_tools import _proto, protoc

    google = Path(next(iter(_proto.__path__)))
    words = ["protoc", f"-I{ROOT}", f"-I{google}", f"--python_out={into}", f"--pyi_out={into}"]
    code = protoc.main([*words, *(f"{FOLDER}/{name}.proto" for name in NAMES)])
    if code:
        raise RuntimeError(f"protoc ended with {code}")


if __name__ == "__main__":
    generate(ROOT)
    sys.exit(0)
