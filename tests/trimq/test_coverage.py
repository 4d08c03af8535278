"""Every request code is answered, or refused for a reason that the documentation names."""

from pathlib import Path

import pytest

from docs import generate
from docs.request_codes import answered_codes
from trimq.codec.codes import OwnRequestCode, RequestCode
from trimq.wiring.unsupported import UNSUPPORTED


def test_every_code_is_answered_or_has_a_reason() -> None:
    broker, _, namesrv = answered_codes()
    answered = broker | namesrv
    reasons = {int(code) for code in UNSUPPORTED}
    assert not answered & reasons
    assert {int(code) for code in (*RequestCode, *OwnRequestCode)} == answered | reasons


def test_the_vip_port_answers_everything_but_pulls_and_pops() -> None:
    broker, vip, _ = answered_codes()
    assert broker - vip == {
        RequestCode.PULL_MESSAGE,
        RequestCode.LITE_PULL_MESSAGE,
        RequestCode.POP_MESSAGE,
        RequestCode.POP_LITE_MESSAGE,
        RequestCode.POLLING_INFO,
        RequestCode.PEEK_MESSAGE,
        RequestCode.NOTIFICATION,
    }


@pytest.mark.parametrize("page", generate.PAGES)
def test_generated_pages_are_up_to_date(page: str) -> None:
    committed = (Path(generate.__file__).parent / page).read_text("utf-8")
    assert committed == generate.PAGES[page](), "run 'make docs' and commit the result"
