"""What is read of a Java file: its classes with their fields, and its methods with what they call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import tree_sitter_java
from tree_sitter import Language, Node, Parser

_JAVA: Final = Language(tree_sitter_java.language())
_TYPES: Final = ("class_declaration", "enum_declaration", "interface_declaration")
_FIELDS: Final = ("field_declaration", "constant_declaration")
_METHODS: Final = ("method_declaration", "constructor_declaration")


@dataclass(frozen=True)
class Field:
    """`default` is the expression it begins with, without blanks; empty: none."""

    owner: str
    name: str
    type: str
    default: str
    marks: frozenset[str]

    @property
    def is_constant(self) -> bool:
        return "final" in self.marks and "static" in self.marks


@dataclass(frozen=True)
class Call:
    """A call of a method or a constructor: in which method, of what, with which arguments."""

    owner: str
    method: str
    name: str
    arguments: tuple[Node, ...]


def parsed(source: bytes) -> Node:
    return Parser(_JAVA).parse(source).root_node


def fields(root: Node) -> Iterator[Field]:
    """Of all classes of the file, those inside of others too."""
    for owner, body in _types(root):
        for node in _members(body):
            # What an interface declares is constant without a word.
            constant = node.type == "constant_declaration"
            if node.type in _FIELDS:
                marks = _marks(node) | ({"static", "final"} if constant else set())
                kind = _compact(node.child_by_field_name("type"))
                for one in node.children_by_field_name("declarator"):
                    name = _text(one.child_by_field_name("name"))
                    default = _compact(one.child_by_field_name("value"))
                    yield Field(owner, name, kind, default, frozenset(marks))


def calls(root: Node) -> Iterator[Call]:
    for owner, body in _types(root):
        for node in _members(body):
            if node.type in _METHODS:
                method = _text(node.child_by_field_name("name"))
                yield from (
                    Call(owner, method, name, arguments) for name, arguments in _called(node)
                )


def returned_texts(root: Node, method: str) -> list[str]:
    """The string literals in methods of that name."""
    return [
        text
        for _, body in _types(root)
        for node in _members(body)
        if node.type in _METHODS and _text(node.child_by_field_name("name")) == method
        for text in literals(node)
    ]


def literals(node: Node) -> list[str]:
    """The texts of string literals in it, in their order."""
    return [_text(one)[1:-1] for one in _walk(node) if one.type == "string_literal"]


def _types(root: Node) -> Iterator[tuple[str, Node]]:
    for node in _walk(root):
        if node.type in _TYPES:
            body = node.child_by_field_name("body")
            if body is not None:
                yield _text(node.child_by_field_name("name")), body


def _members(body: Node) -> Iterator[Node]:
    for node in body.children:
        # Of an enum the fields and methods stand behind the constants.
        yield from node.children if node.type == "enum_body_declarations" else (node,)


def _called(method: Node) -> Iterator[tuple[str, tuple[Node, ...]]]:
    for node in _walk(method):
        if node.type in ("method_invocation", "object_creation_expression"):
            field = "name" if node.type == "method_invocation" else "type"
            arguments = node.child_by_field_name("arguments")
            yield (
                _text(node.child_by_field_name(field)),
                tuple(arguments.named_children) if arguments is not None else (),
            )


def _marks(node: Node) -> set[str]:
    found = set()
    for child in node.children:
        if child.type == "modifiers":
            found |= {_text(one).split("(")[0] for one in child.children}
    return found


def _walk(node: Node) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += reversed(one.children)


def _text(node: Node | None) -> str:
    return node.text.decode() if node is not None and node.text is not None else ""


def _compact(node: Node | None) -> str:
    """Its text without blanks and comments."""
    if node is None:
        return ""
    leaves = (one for one in _walk(node) if not one.children or one.type == "string_literal")
    parts, end = [], -1
    for leaf in leaves:
        # The parts of a string literal are in it.
        if leaf.start_byte >= end and leaf.type not in ("block_comment", "line_comment"):
            parts.append(_text(leaf))
            end = leaf.end_byte
    return "".join(parts)
