"""Settings from texts: types, limits, unknown keys."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from trimq import settings


@dataclass(frozen=True)
class Example:
    broker_name: str = "broker-a"
    broker_ip1: str = field(default="", metadata={"key": "brokerIP1"})
    queue_nums: int = field(default=8, metadata={"at_least": 1, "at_most": 65536})
    auto_create: bool = True
    flush_disk_type: str = field(
        default="ASYNC_FLUSH", metadata={"choices": ("ASYNC_FLUSH", "SYNC_FLUSH")}
    )
    root: Path = Path("data")
    region: str | None = None


def test_values_take_their_types() -> None:
    values = {"brokerName": "b", "brokerIP1": "1.2.3.4", "queueNums": " 4 ", "autoCreate": "FALSE"}
    built = settings.build(Example, values, root=Path("elsewhere"))
    assert built == Example("b", "1.2.3.4", 4, False, "ASYNC_FLUSH", Path("elsewhere"))


@pytest.mark.parametrize(
    ("key", "text", "error"),
    [
        ("queueNums", "many", "queueNums=many: must be a whole number"),
        ("queueNums", "0", "queueNums=0: must be at least 1"),
        ("queueNums", "99999", "queueNums=99999: must be at most 65536"),
        ("autoCreate", "yes", "autoCreate=yes: must be true or false"),
        ("flushDiskType", "X", "flushDiskType=X: must be one of ASYNC_FLUSH, SYNC_FLUSH"),
    ],
)
def test_a_bad_value_names_key_value_and_what_is_allowed(key: str, text: str, error: str) -> None:
    with pytest.raises(settings.SettingsError, match=f"^{error}$"):
        settings.build(Example, {key: text})


def test_an_unknown_key_is_a_warning_with_the_nearest_name() -> None:
    assert settings.unknown_keys({"brokrName": "x", "brokerName": "y"}, [Example]) == [
        "unknown setting 'brokrName' is ignored: TriMQ does not have it; did you mean 'brokerName'?"
    ]
    assert settings.unknown_keys({"zzz": "x"}, [Example]) == [
        "unknown setting 'zzz' is ignored: TriMQ does not have it"
    ]


def test_assignments_need_an_equals_sign() -> None:
    assert settings.parse_assignments(["a=b=c", " d = e "]) == {"a": "b=c", "d": "e"}
    with pytest.raises(settings.SettingsError, match="write key=value"):
        settings.parse_assignments(["oops"])
