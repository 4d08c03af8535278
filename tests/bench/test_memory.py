"""Whether promises are judged by what was found."""

from __future__ import annotations

from bench.pages.figures import Figures
from bench.parts import memory
from bench.servers.subjects import OURS


def found(ready=0.4, first=30.0, last=30.5, idle=0.2):
    figures = Figures()
    figures.add(memory.READY, OURS, ready)
    figures.add(memory.after(1), OURS, first)
    figures.add(memory.after(5), OURS, last)
    figures.add(memory.IDLE, OURS, idle)
    return memory.judged(figures, 5)


def test_promises_that_are_kept():
    lines = found()
    assert lines[0] == "ready after: 0.400 s, wanted under 0.5: met"
    assert len(lines) == 4
    assert all(line.endswith(": met") for line in lines)


def test_each_that_is_not_kept_is_missed():
    lines = found(ready=0.5, first=98.0, last=100.0, idle=1.5)
    assert all(line.endswith(": missed") for line in lines)
    # MiB become MB.
    assert lines[1] == "RssAnon after 5 M messages: 104.9 MB, wanted under 100: missed"
    assert lines[2] == "growth over the last 4 M of them: 2.097 MB, wanted under 2: missed"


def test_memory_may_shrink():
    assert found(last=20.0)[2].endswith(": met")


def test_what_was_not_measured_is_not_judged():
    assert memory.judged(Figures(), 5)[1] == "RssAnon after 5 M messages: not measured"
