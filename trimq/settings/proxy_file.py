"""`rmq-proxy.json`, as RocketMQ's proxy reads it: FastJSON's dialect, one object."""

from pathlib import Path

from trimq.base.user_ids import user_ids
from trimq.codec.errors import CodecError
from trimq.codec.java import fastjson
from trimq.settings.parsing import SettingsError


def read_proxy_file(path: Path) -> dict[str, str]:
    """The keys of a `rmq-proxy.json` and the texts of their values. SettingsError says what is wrong in it."""
    try:
        found = fastjson.loads(path.read_bytes())
    except OSError as error:
        raise SettingsError(
            f"cannot read {path}: {error.strerror or error} ({user_ids()})"
        ) from error
    except CodecError as error:
        raise SettingsError(f"cannot read {path}: {error}") from error
    if not isinstance(found, dict):
        raise SettingsError(f"{path}: must be one JSON object, as RocketMQ's rmq-proxy.json is")
    # As there, a value that is null leaves the default.
    return {str(key): _text(key, one) for key, one in found.items() if one is not None}


def _text(key: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value).strip()
    raise SettingsError(f"{key}: must be one text, number or truth value")
