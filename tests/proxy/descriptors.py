"""What compiled protocol buffers say of themselves: ``python -m tests.proxy.descriptors rocketmq-proto-2.1.2.jar``.

The messages of RocketMQ's 5.x clients come as Java classes without their .proto files. Each of the outer classes has
its file's descriptor in strings of its constant pool, bytes as characters. Here they are read out, and said in lines
that can be compared.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.message import DecodeError

PACKAGE: Final = "apache/rocketmq/v2"
CLASSES: Final = ("MQDomain", "MQService")
_TEXT: Final = 1
# Bytes behind the tag of each kind of constant, but for texts.
_SIZES: Final = {
    **{3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4},
    **{12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2},
}
# They take two places.
_WIDE: Final = (5, 6)
# Where a descriptor ends.
_LAST_FIELD: Final = b"b\x06proto3"


def of_jar(jar: Path) -> list[FileDescriptorProto]:
    """Of the values and of the calls, in this order; ValueError where a class has no descriptor."""
    with zipfile.ZipFile(jar) as archive:
        return [_of_class(archive.read(f"{PACKAGE}/{name}.class")) for name in CLASSES]


def _of_class(data: bytes) -> FileDescriptorProto:
    data_so_far = b""
    for text in _texts(data):
        is_first = not data_so_far and text[:1] == "\n" and ".proto" in text[:60]
        if not is_first and not data_so_far:
            continue
        # What is longer than a constant may be goes on in the next one.
        data_so_far += text.encode("latin-1")
        if data_so_far.endswith(_LAST_FIELD):
            return FileDescriptorProto.FromString(data_so_far)
    raise ValueError("no descriptor of a proto3 file is in this class")


def _texts(data: bytes) -> Iterator[str]:
    """Of a class file's constant pool, in their order."""
    count = int.from_bytes(data[8:10], "big")
    at, number = 10, 1
    while number < count:
        tag = data[at]
        if tag == _TEXT:
            end = at + 3 + int.from_bytes(data[at + 1 : at + 3], "big")
            # Java writes a zero in two bytes.
            raw = data[at + 3 : end].replace(b"\xc0\x80", b"\0")
            yield raw.decode("utf-8", "surrogatepass")
            at = end
        else:
            at += 1 + _SIZES[tag]
        number += 2 if tag in _WIDE else 1


def lines(file: FileDescriptorProto) -> Iterator[str]:
    """Names, numbers, types and labels, without the file's own name and without options of Java."""
    yield f"package {file.package} {file.syntax}"
    for enum in file.enum_type:
        yield from _of_enum(enum, "")
    for message in file.message_type:
        yield from _of_message(message, "")
    for service in file.service:
        for method in service.method:
            asks = "stream " * method.client_streaming + method.input_type
            answers = "stream " * method.server_streaming + method.output_type
            yield f"rpc {service.name}.{method.name} ({asks}) ({answers})"


def _of_enum(enum: EnumDescriptorProto, within: str) -> Iterator[str]:
    for value in enum.value:
        yield f"enum {within}{enum.name} {value.name} = {value.number}"


def _of_message(message: DescriptorProto, within: str) -> Iterator[str]:
    name = f"{within}{message.name}"
    yield f"message {name} map={message.options.map_entry}"
    for enum in message.enum_type:
        yield from _of_enum(enum, f"{name}.")
    for nested in message.nested_type:
        yield from _of_message(nested, f"{name}.")
    for field in message.field:
        yield f"field {name}.{_of_field(field, message)}"
    for taken in message.reserved_range:
        yield f"reserved {name} {taken.start} to {taken.end - 1}"
    for word in message.reserved_name:
        yield f"reserved {name} {word}"


def _of_field(field: FieldDescriptorProto, message: DescriptorProto) -> str:
    kind = field.type_name or FieldDescriptorProto.Type.Name(field.type)
    label = FieldDescriptorProto.Label.Name(field.label)
    one_of = message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else ""
    marks = f"oneof={one_of} optional={field.proto3_optional} deprecated={field.options.deprecated}"
    return f"{field.name} = {field.number} {kind} {label} {marks}"


def main(jar: Path) -> int:
    try:
        found = of_jar(jar)
    except (OSError, KeyError, ValueError, DecodeError) as error:
        print(f"{jar}: {error}", file=sys.stderr)
        return 1
    for file in found:
        print(f"// {file.name}")
        print("\n".join(lines(file)))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
