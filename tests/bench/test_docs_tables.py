"""What a run writes into the pages by itself: bench/RESULTS.md, README.md, docs/speed.md."""

from __future__ import annotations

import pytest

from bench.pages import docs, report
from bench.pages.figures import Figures
from bench.servers.subjects import OTHER, OURS, REAL, ROOT

PRODUCER = "TPS, official Producer (sync, 16 threads, 128 B)"
CPU = "broker CPU, us a message (sync, 16 threads, 128 B)"


@pytest.fixture
def root(tmp_path):
    (tmp_path / "docs").mkdir()
    readme = "# T\n\n## How fast\n\nWords.\n\n[bench/RESULTS.md](bench/RESULTS.md) has the whole table.\n"
    (tmp_path / "README.md").write_text(readme)
    (tmp_path / "docs" / "speed.md").write_text("# S\n\n## Where the time goes\n\nThere.\n")
    return tmp_path


def official(producer=(11_849, 13_000), cpu=(40.0, 15.0)):
    found = Figures()
    for name, (real, ours) in {PRODUCER: producer, CPU: cpu}.items():
        found.add(name, REAL, real)
        found.add(name, OURS, ours)
    return found


def test_tables_come_before_the_next_heading_and_sentences_stay(root):
    assert docs.write("official", official(), root) == ["README.md", "docs/speed.md"]
    text = (root / "README.md").read_text()
    assert text.startswith("# T\n\n## How fast\n\nWords.\n\n<!-- figures: official -->\n")
    assert "| 11,800 | 13,000 | 1.10 |" in text
    assert "<!-- end figures: official -->\n\n[bench/RESULTS.md](bench/RESULTS.md) has" in text


def test_another_run_replaces_its_own_table_only(root):
    docs.write("official", official(), root)
    docs.write("ceiling", official(), root)
    before = (root / "README.md").read_text()
    docs.write("official", official(producer=(11_849, 20_000)), root)
    after = (root / "README.md").read_text()
    assert after == before.replace("| 13,000 | 1.10 |", "| 20,000 | 1.69 |", 1)


@pytest.mark.parametrize("kinds", [(OURS,), (REAL,), (OTHER, OURS)])
def test_without_the_real_broker_or_us_nothing_is_written(root, kinds):
    found = Figures()
    for kind in kinds:
        found.add(PRODUCER, kind, 1.0)
    assert docs.write("official", found, root) == []
    assert "figures" not in (root / "README.md").read_text()


@pytest.mark.parametrize(
    ("ours", "met"),
    [(10_999, "no"), (11_000, "the floor"), (12_999, "the floor"), (13_000, "the aim")],
)
def test_a_ratio_is_held_against_floor_and_aim(ours, met):
    lines = docs.floors(official(producer=(10_000, ours))).splitlines()
    assert lines[4] == f"| {PRODUCER} | {ours / 10_000:.2f} | 1.1 | 1.3 | {met} |"


def test_of_cpu_time_it_is_messages_that_count():
    lines = docs.floors(official(cpu=(40.0, 21.0))).splitlines()
    load = "messages a second of broker CPU, (sync, 16 threads, 128 B)"
    assert lines[5] == f"| {load} | 1.90 | 2 | 2 | no |"


def test_every_block_has_its_place_in_the_pages():
    for block in docs.BLOCKS:
        text = (ROOT / block.page).read_text()
        assert block.before in text or f"<!-- figures: {block.part} -->" in text


def test_a_page_without_that_heading_is_an_error_and_stays(root):
    (root / "docs" / "speed.md").write_text("# S\n")
    with pytest.raises(ValueError, match=r"docs/speed.md has no .*Where the time goes"):
        docs.write("started", official(), root)
    assert (root / "docs" / "speed.md").read_text() == "# S\n"


def test_a_section_replaces_its_former_self_and_others_stay(tmp_path):
    page = tmp_path / "RESULTS.md"
    for name in ("one", "two"):
        report.write_section(name, name.title(), "first words", page)
    report.write_section("one", "One", "other words", page)
    text = page.read_text()
    places = [text.index(words) for words in ("## One", "other words", "## Two", "first words")]
    assert places == sorted(places)
    assert text.count("<!-- one -->") == 1


def test_sections_stay_when_the_words_of_the_head_change(tmp_path):
    page = tmp_path / "RESULTS.md"
    page.write_text(
        "# Measurements\n\nOther words.\n\n<!-- two -->\n## Two\n\nold\n<!-- end two -->\n"
    )
    report.write_section("one", "One", "new", page)
    text = page.read_text()
    assert "Other words" not in text
    assert "\n\n<!-- two -->\n## Two\n\nold\n<!-- end two -->\n\n<!-- one -->" in text
