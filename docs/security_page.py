"""The table of limits in docs/security.md; the rest of that page is written by hand."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from trimq.base.setting_fields import DECLARED
from trimq.broker.config import BrokerConfig
from trimq.namesrv.config import NamesrvConfig
from trimq.settings.parsing import camel
from trimq.settings.process import ServerConfig
from trimq.store.config import StoreConfig

PAGE: Final = Path(__file__).parent / "security.md"
_NO_LIMIT: Final = " 0: no limit."

_BEGIN: Final = "<!-- made by `make docs` from the settings -->\n"
_END: Final = "<!-- end -->"
_HEAD: Final = "| setting | default | what |\n|---|---:|---|\n"


def limits() -> Iterator[tuple[str, int, str]]:
    """Key, default and meaning of every limit."""
    for config in (ServerConfig, BrokerConfig, StoreConfig, NamesrvConfig):
        for field in dataclasses.fields(config):
            declared = field.metadata.get(DECLARED)
            if declared is not None and declared.doc.endswith(_NO_LIMIT):
                what = declared.doc.removesuffix(_NO_LIMIT)
                default = field.default
                assert isinstance(default, int)
                yield declared.key or camel(field.name), default, what


def security() -> str:
    """The page with its table of limits regenerated."""
    rows = (f"| `{key}` | {default:,} | {what} |\n" for key, default, what in limits())
    before, _, rest = PAGE.read_text("utf-8").partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}{_HEAD}{''.join(rows)}{_END}{after}"
