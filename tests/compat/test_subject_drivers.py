"""Scenarios of a subject are played by the drivers with more sources, and are recorded by themselves."""

from __future__ import annotations

import pytest

from compat_tests.scenarios.batches import MAIN
from compat_tests.scenarios.driver import JAVA_5
from compat_tests.scenarios.go_driver import GO
from compat_tests.scenarios.recorded import subject
from compat_tests.scenarios.subject_drivers import FOLDER, GoSubject, JavaSubject
from compat_tests.servers import artifacts

JAVA = JavaSubject(artifacts.CLIENT_5, subject="order", properties=(("order.seconds", "9"),))


@pytest.mark.parametrize(("driver", "own"), [(JAVA_5, JAVA), (GO, GoSubject(subject="order"))])
def test_a_change_of_a_subject_leaves_the_drivers_records_alone(driver, own):
    more = set(own.sources()) - set(driver.sources())
    assert set(driver.sources()) < set(own.sources())
    assert more
    assert all(FOLDER in file.parents for file in more)
    assert subject(driver, MAIN, {}).fingerprint() != subject(own, MAIN, {}).fingerprint()


def test_a_subjects_classes_and_properties_are_part_of_the_command(monkeypatch, tmp_path):
    monkeypatch.setattr(artifacts, "java_driver", lambda client: "driver-classes")
    monkeypatch.setattr(artifacts, "beside_driver", lambda client, name, sources: f"{name}-classes")
    words = JAVA.command(tmp_path, None)
    assert words[words.index("-cp") + 1] == "order-classes"
    assert words[words.index("driver.Subject") + 1] == "OrderScenarios"
    assert "-Dorder.seconds=9" in words[: words.index("driver.Subject")]
    assert (FOLDER / "order" / "java" / "driver" / "OrderScenarios.java").exists()
