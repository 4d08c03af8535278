"""Settings from texts: types, limits, unknown keys."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from trimq.base.setting_fields import setting
from trimq.settings import parsing as settings
from trimq.store.config import StoreConfig


@dataclass(frozen=True)
class Example:
    broker_name: str = setting("broker-a", "")
    broker_ip1: str = setting("", "", key="brokerIP1")
    queue_nums: int = setting(8, "", at_least=1, at_most=65536)
    auto_create: bool = setting(True, "")
    flush_disk_type: str = setting("ASYNC_FLUSH", "", choices=("ASYNC_FLUSH", "SYNC_FLUSH"))
    root: Path = setting(Path("data"), "")
    region: str | None = setting(None, "")
    period: int = setting(5, "")
    since: int = setting(0, "", long=True)
    ratio: float = setting(0.5, "", at_least=0, at_most=1)
    password: str = setting("", "", choices=("", "a"), secret=True)


def test_values_take_their_types() -> None:
    values = {"brokerName": "b", "brokerIP1": "1.2.3.4", "queueNums": " 4 ", "autoCreate": "FALSE"}
    built = settings.build(Example, values, root=Path("elsewhere"))
    assert built == Example("b", "1.2.3.4", 4, False, "ASYNC_FLUSH", Path("elsewhere"))


@pytest.mark.parametrize(
    ("key", "text", "error"),
    [
        ("queueNums", "many", "queueNums=many: must be a whole number from 1 to 65536"),
        ("queueNums", "0", "queueNums=0: must be at least 1"),
        ("queueNums", "99999", "queueNums=99999: must be at most 65536"),
        ("autoCreate", "yes", "autoCreate=yes: must be true or false"),
        ("period", "2147483648", "period=2147483648: must be at most 2147483647"),
        ("period", "-2147483649", "period=-2147483649: must be at least -2147483648"),
        (
            "period",
            "\u0661",
            "period=\u0661: must be a whole number from -2147483648 to 2147483647",
        ),
        ("period", "1_0", "period=1_0: must be a whole number from -2147483648 to 2147483647"),
        ("since", "9223372036854775808", ".* must be at most 9223372036854775807"),
        ("ratio", "nan", "ratio=nan: must be a number"),
        ("ratio", "inf", "ratio=inf: must be at most 1"),
        ("brokerName", "a\nb", r"brokerName='a\\nb': must be one line of printable characters"),
        ("password", "guessed", r"password=\*+: must be one of , a"),
        ("flushDiskType", "X", "flushDiskType=X: must be one of ASYNC_FLUSH, SYNC_FLUSH"),
    ],
)
def test_a_bad_value_names_key_value_and_what_is_allowed(key: str, text: str, error: str) -> None:
    with pytest.raises(settings.SettingsError, match=f"^{error}$"):
        settings.build(Example, {key: text})


def test_a_number_of_many_digits_is_refused_at_once() -> None:
    with pytest.raises(settings.SettingsError, match="whole number from 1") as told:
        settings.build(Example, {"queueNums": "1" + "0" * 400})
    assert len(str(told.value)) < 200


def test_a_long_text_is_not_repeated() -> None:
    with pytest.raises(settings.SettingsError) as told:
        settings.settings_of(StoreConfig)["deleteWhen"].read("x" * 100_000)
    assert len(str(told.value)) < 500


def test_limits_are_javas_unless_narrower() -> None:
    built = settings.build(Example, {"period": "-2147483648", "since": "9223372036854775807"})
    assert (built.period, built.since) == (-(2**31), 2**63 - 1)


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
