"""Parts that run side by side: what they print, which one failed, and that none outlives the run."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bench import smoke


def python(words):
    return [sys.executable, "-c", words]


def test_every_part_runs_and_its_output_stays_in_one_piece(capfd):
    first = "import time; print('a', flush=True); time.sleep(0.3); print('b')"
    commands = {"one": python(first), "two": python("print('c')"), "three": python("print('d')")}
    assert smoke.run_all(commands) == []
    printed = capfd.readouterr().out.split()
    assert sorted(printed) == ["a", "b", "c", "d"]
    assert printed.index("b") == printed.index("a") + 1


def test_two_parts_run_beside_each_other(tmp_path):
    ready, wait = (
        "open('{}', 'w'); ",
        "import os, time\nwhile not os.path.exists('{}'): time.sleep(0.01)",
    )
    one, two = tmp_path / "one", tmp_path / "two"
    commands = {
        "one": python(ready.format(one) + "\n" + wait.format(two)),
        "two": python(ready.format(two) + "\n" + wait.format(one)),
    }
    assert smoke.run_all(commands) == []


def test_a_part_that_fails_is_named_and_the_others_run_all_the_same(capfd):
    commands = {"bad": python("raise SystemExit('a reply was wrong')"), "good": python("print(1)")}
    assert smoke.run_all(commands) == ["bad"]
    assert sorted(capfd.readouterr().out.split("\n")) == ["", "", "", "1", "a reply was wrong"]


def test_whoever_runs_is_ended_when_the_run_is(monkeypatch):
    started = []

    class Popen(subprocess.Popen):
        def __init__(self, *words, **more):
            super().__init__(*words, **more)
            started.append(self)

    def stop(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(smoke.subprocess, "Popen", Popen)
    monkeypatch.setattr(smoke.time, "sleep", stop)
    with pytest.raises(KeyboardInterrupt):
        smoke.run_all({"one": ["sleep", "600"], "two": ["sleep", "600"]})
    assert [process.returncode for process in started] == [-15, -15]
