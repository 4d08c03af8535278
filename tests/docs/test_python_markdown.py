"""Lists, rows and code, as Python-Markdown has to be given them."""

from __future__ import annotations

import pytest

from docs.python_markdown import converted


def same(line: str) -> str:
    return line


@pytest.mark.parametrize(
    ("written", "given"),
    [
        ("- a\n  goes on\n- b\n", "- a\n    goes on\n- b\n"),
        ("- a\n  - b\n    - c\n  - d\n- e\n", "- a\n    - b\n        - c\n    - d\n- e\n"),
        ("1. a\n   - b\n2) c\n", "1. a\n    - b\n2. c\n"),
        ("Words:\n- a\n", "Words:\n\n- a\n"),
        ("- a\n\nwords\n", "- a\n\nwords\n"),
        ("- a\n\n  of a\n", "- a\n\n    of a\n"),
        ("-5 is no item\n", "-5 is no item\n"),
        ("| `a \\| b` | c \\| d |\n", "| `a | b` | c \\| d |\n"),
        ("```moving\n  - no list\n| `\\|` |\n```\n", "```text\n  - no list\n| `\\|` |\n```\n"),
        ("```sh moving\nls\n```\n", "```sh\nls\n```\n"),
        ("1. a\n\n   ```sh\n   if x; then\n     y\n   ```\n", None),
        ("<!-- figures -->\n- a\n", "\n- a\n"),
        ("a\n\n    - b\n      c\n\n    d\ne\n", "a\n\n    - b\n      c\n\n    d\ne\n"),
        ("a\n    goes on\n", "a\ngoes on\n"),
        ("- a\n\n      b\n", "- a\n\n        b\n"),
        ("a Map<Long> `<b>`\n", "a Map&lt;Long> `<b>`\n"),
    ],
)
def test_what_it_is_given(written: str, given: str | None) -> None:
    in_an_item = "1. a\n\n    ```sh\n    if x; then\n      y\n    ```\n"
    assert converted(written, same) == (in_an_item if given is None else given)


def test_code_is_not_prose() -> None:
    assert converted("a\n```\na\n```\n- a\n", str.upper) == "A\n```text\na\n```\n\n- A\n"
