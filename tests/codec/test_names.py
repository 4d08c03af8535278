"""Reserved names and shared remarks are in codec/names.py and nowhere else."""

import ast
from pathlib import Path

from tests.layers import LAYERS
from trimq.codec import names

ROOT = Path(__file__).parents[2]
# Where they are; what was imported may be compiled.
HOME = (ROOT / "codec" / "names.py").resolve()
PREFIXES = (names.RETRY_PREFIX, names.DLQ_PREFIX, names.LMQ_PREFIX)
# Short or everyday words among them would be found where they mean something else.
NAMES = {text for text in vars(names).values() if isinstance(text, str) and "_" in text} | {
    names.AUTO_CREATE_TOPIC,
    names.BENCHMARK_TOPIC,
    names.SEE_FAQ,
    names.REMARK_LEFT,
}


def test_names_made_of_others() -> None:
    assert names.retry_topic("g") == "%RETRY%g"
    assert names.dlq_topic("g") == "%DLQ%g"
    assert names.pop_retry_topic("t", "g") == "%RETRY%g_t"
    assert names.pop_retry_topic_v2("t", "g") == "%RETRY%g+t"
    assert names.lite_queue("t", "l") == "%LMQ%$t$l"
    assert names.reply_topic("c") == "c_REPLY_TOPIC"


def test_no_other_module_writes_them_down() -> None:
    assert [place for path in _modules() for place in _written_down(path)] == []


def _modules() -> list[Path]:
    found = {
        path.resolve()
        for layer in (*LAYERS, "trimq")
        for path in (ROOT / layer).rglob("*.py")
        if path.resolve() != HOME
    }
    assert len(found) > 400
    return sorted(found)


def _written_down(path: Path) -> list[str]:
    text = path.read_text()
    if not any(name in text for name in (*NAMES, *PREFIXES)):
        return []
    return [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value!r}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and (node.value in NAMES or node.value.startswith(PREFIXES))
    ]
