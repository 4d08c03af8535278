"""TriMQ: a message broker and NameServer that speak RocketMQ's remoting protocol.

``import trimq`` is cheap: it loads neither Trio nor the broker. The names below are loaded on first
use. TriMQ's layers are packages with general names (``store``, ``broker``, ...); should a folder of
the user's hide one of them, the import says so at once instead of failing somewhere inside.
"""

from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from trimq.server import RunningServer, serve

__version__ = "0.1.0"
__all__ = ["RunningServer", "__version__", "serve"]

LAYERS: Final = ("codec", "remoting", "store", "broker", "namesrv", "processors")


def __getattr__(name: str) -> object:
    if name in ("serve", "RunningServer"):
        return getattr(import_module("trimq.server"), name)
    raise AttributeError(f"module 'trimq' has no attribute {name!r}")


def check_layers(layers: Iterable[str]) -> None:
    """ImportError when a package of ours is hidden by another one of the same name."""
    home = Path(__file__).resolve().parent.parent
    for layer in layers:
        spec = find_spec(layer)
        where = [*(spec.submodule_search_locations or []), spec.origin or ""] if spec else []
        if not any(Path(place).resolve().is_relative_to(home / layer) for place in where if place):
            found = where[0] if where else "nowhere"
            raise ImportError(
                f"TriMQ's package '{layer}' is hidden by {found}, which has the same name: rename"
                " that, or run from a folder that does not contain it"
            )


# In an archive (`trimq spark package`) are only the layers that Spark's tasks need.
if Path(__file__).exists():
    check_layers(LAYERS)
