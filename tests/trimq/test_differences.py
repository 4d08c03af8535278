"""Each deliberate difference is documented from one list, and demanded by tests that exist."""

from pathlib import Path

import pytest

from compat_tests.proxy.cases.catalogue import CASES as CALLS
from compat_tests.servers.versions import VERSIONS
from compat_tests.wire.cases.catalogue import all_cases
from docs.clients import CLIENTS, Client
from docs.differences import DIFFERENCES, Difference, deliberate_calls, deliberate_cases
from docs.versions_page import PLAYED, Played

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("one", DIFFERENCES, ids=lambda one: one.text[:40])
def test_a_difference_is_shown_by_tests(one: Difference) -> None:
    assert one.cases or one.calls or one.tests
    for test in one.tests:
        path, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / path).read_text("utf-8"), test


def test_the_cases_exist_and_each_differs_for_one_reason() -> None:
    for named in (
        [case for one in DIFFERENCES for case in one.cases],
        [call for one in DIFFERENCES for call in one.calls],
    ):
        assert len(named) == len(set(named))
    assert deliberate_cases().keys() <= {case.name for case in all_cases()}
    assert deliberate_calls().keys() <= {case.name for cases in CALLS.values() for case in cases}


@pytest.mark.parametrize("one", CLIENTS, ids=lambda one: one.name[:40])
def test_what_is_said_about_a_client_is_tested(one: Client) -> None:
    assert one.tests or "not" in one.tried
    assert all((ROOT / test).exists() for test in one.tests)


@pytest.mark.parametrize("one", PLAYED, ids=lambda one: one.what[:40])
def test_what_was_played_beside_a_version_has_tests(one: Played) -> None:
    assert one.tests
    assert all((ROOT / test).exists() for test in one.tests)
    assert set(one.when) <= set(VERSIONS)
