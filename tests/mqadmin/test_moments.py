"""Times on the command line: what mqadmin prints, ISO 8601, before now."""

import time
from collections.abc import Iterator

import click
import pytest

from trimq.admin.groups.progress import Side
from trimq.codec.java.moments import compact_time, local_seconds, local_time
from trimq.mqadmin.commands.reset_offset import target_of
from trimq.mqadmin.text import moments
from trimq.mqadmin.text.moments import moment, start_moment

# 2026-01-31T23:59:59.999Z, and what the clock shows.
MILLIS = 1_769_903_999_999
NOW = 1_795_367_873_032
HOUR = 3_600_000


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moments, "now", lambda: NOW)


@pytest.fixture(params=["UTC", "Asia/Kolkata", "America/New_York"])
def zone(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("zone")
def test_what_is_printed_is_read() -> None:
    assert moment(local_time(MILLIS)) == MILLIS
    assert moment(compact_time(MILLIS)) == MILLIS
    assert moment(local_seconds(MILLIS)) == MILLIS // 1000 * 1000
    assert moment(str(MILLIS)) == MILLIS


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("2026-01-31T23:59:59.999Z", MILLIS),
        ("2026-01-31t23:59:59.999z", MILLIS),
        ("2026-01-31 23:59:59,999Z", MILLIS),
        ("2026-02-01T00:59:59.999+01:00", MILLIS),
        ("2026-01-31T18:29:59.999-0530", MILLIS),
        ("1970-01-01T00:00Z", 0),
        ("now", NOW),
        ("NOW", NOW),
        ("-1h", NOW - HOUR),
        ("-30m", NOW - HOUR // 2),
        ("-1h30m", NOW - 3 * HOUR // 2),
        ("-2d", NOW - 48 * HOUR),
        ("-1w", NOW - 168 * HOUR),
        ("-250ms", NOW - 250),
        ("+10s", NOW + 10_000),
        ("-1", -1),
        ("0", 0),
        (" 5 ", 5),
    ],
)
def test_forms(text: str, millis: int) -> None:
    assert moment(text) == millis


@pytest.mark.usefixtures("zone")
def test_local_forms_agree() -> None:
    official = moment("2026-01-31#12:00:00:000")
    assert official == moment("2026-01-31T12:00") == moment("2026-01-31 12:00:00")
    assert official == moment("2026-01-31") + 12 * HOUR


@pytest.mark.parametrize(
    "text",
    ["", "soon", "1h", "-", "-1y", "--5", "9" * 20, "-999999999w", "2026-13-01", "2026-01-31#12"],
)
def test_other_words_are_refused_with_the_forms(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a time: now, -1h30m, "):
        moment(text)


@pytest.mark.parametrize("text", ["2099-01-01", "+1h", str(1 << 62)])
def test_a_time_in_the_future_is_reported(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    start_moment(text)
    assert "lies in the future: nothing has been stored since then" in capsys.readouterr().err
    assert target_of(text).side is Side.TIME
    assert "lies in the future: every queue is set to its end" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["now", "-1h", "-1", "0"])
def test_a_time_in_the_past_is_not_reported(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    start_moment(text)
    assert capsys.readouterr().err == ""
