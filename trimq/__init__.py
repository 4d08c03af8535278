"""TriMQ: a message broker and NameServer that speak RocketMQ's remoting protocol.

``import trimq`` is cheap: it loads neither Trio nor the broker. The names below are loaded on first
use. In the source tree the layers (``trimq.store``, ``trimq.broker``, ...) are links to the folders
beside this one.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trimq.serving.server import RunningServer, serve

__version__ = "0.1.0"
__all__ = ["RunningServer", "__version__", "serve"]


def __getattr__(name: str) -> object:
    if name in ("serve", "RunningServer"):
        return getattr(import_module("trimq.serving.server"), name)
    raise AttributeError(f"module 'trimq' has no attribute {name!r}")
