"""What the store's bench builds and writes: files as the store's own, charts and pages that are whole."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from bench.store import figures, page, plots
from bench.store.bulk import BulkStore
from bench.store.figures import Curve, Section, Table
from bench.store.work import Ticks
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message
from trimq.store.upkeep.checkpoint_file import load_checkpoint

EPOCH = 1_700_000_000_000


def content(root, folder):
    return {
        str(p.relative_to(root)): p.read_bytes()
        for p in (root / folder).rglob("*[0-9]")
        if p.is_file()
    }


@pytest.mark.parametrize(
    ("count", "body"), [(1, b""), (9, b"x" * 100), (57, b"y" * 30), (64, b"z")]
)
@pytest.mark.parametrize("first", [0, 1, 5])
def test_bulk_files_are_those_of_the_store(tmp_path, count, body, first):
    """Also when the store itself has begun the queue, or goes on with it."""
    sizes = {"mapped_file_size_commit_log": 1100, "mapped_file_size_consume_queue": 20 * 7}
    ours = StoreConfig(root=tmp_path / "put", **sizes)
    bulk = StoreConfig(root=tmp_path / "bulk", **sizes)
    clock = Ticks(EPOCH)
    maker = BulkStore(bulk, "T", body, EPOCH)
    for config, number in ((ours, count + first), (bulk, first)):
        clock = Ticks(EPOCH)
        store = MessageStore(config, clock)
        store.open()
        for _ in range(number):
            store.put(Message("T", 0, body))
        store.close()
        if config is bulk:
            maker.went_on(first, store.max_physical_offset, clock.millis)
    maker.grow(count + first)
    assert content(ours.root, "commitlog") == content(bulk.root, "commitlog")
    assert content(ours.root, "consumequeue") == content(bulk.root, "consumequeue")
    promised = load_checkpoint(bulk.root / "checkpoint").queue_physical_offset
    assert promised == load_checkpoint(ours.root / "checkpoint").queue_physical_offset
    store = MessageStore(bulk, clock)
    report = store.open()
    assert (report.clean, report.records) == (True, 1)
    assert store.put(Message("T", 0, body)).queue_offset == count + first
    store.close()


def test_a_chart_is_xml_with_a_dot_for_every_figure():
    svg = plots.chart("n", "us", [1, 100, 10_000], {"a < b": [1, 2, 3], "c": [200, 1000, 40]})
    tree = ElementTree.fromstring(svg)
    space = {"svg": "http://www.w3.org/2000/svg"}
    assert len(tree.findall(".//svg:circle", space)) == 6
    assert "a < b" in [text.text for text in tree.findall(".//svg:text", space)]


def test_the_page_says_what_is_flat_and_keeps_other_sections(tmp_path):
    table = Table(
        "Two lines",
        "A note.",
        ["n", "even, us", "steep, us"],
        [[1, 10.0, 1.0], [1000, 11.0, 3.0]],
        [Curve("two.svg", "us", [1, 2])],
    )
    found = {"two": Section("Section", [table], "by hand")}
    figures.save(tmp_path / "kept.json", found)
    assert figures.load(tmp_path / "kept.json") == found
    page.write(tmp_path, found)
    text = (tmp_path / "store-speed.md").read_text()
    assert "Flat: even (x 1.10). Not flat: steep (x 3.00)." in text
    assert "| 1,000 | 11 | 3 |" in text
    ElementTree.parse(tmp_path / "plots/two.svg")
