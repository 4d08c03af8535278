"""JSON values as Java's classes read them (fastjson2 2.0.59, the one in RocketMQ 5.5.0).

Clients in other languages write an enum as its number, a number as a text, a truth value as 1. What was
decoded without types is brought into the shape of a type here: nulls go (an absent value has the
default of its class, as Java's fields have), and then

- text: a number or truth value as it is written, an object or array as its JSON
- enum (a Literal, its values in Java's order): a name in any case; a number, or digits as a text,
  is the position in that order. An unknown name counts as null, a number out of range is an error
- truth value: 1 is true, any other number false; "true" in any case, "1" and "Y" are true, "false",
  "0", "N" and "" are false, other texts errors
- whole number: fractions are cut off, true is 1; a text of a number is that number, "" is absent
- array: one value counts as an array of it, "" is absent
"""

from collections.abc import Callable, Mapping
from functools import cache, partial
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec

from trimq.codec.errors import CodecError

Fit = Callable[[Any], Any]

_TRUE: Final = frozenset(("true", "1", "y"))
_FALSE: Final = frozenset(("false", "0", "n"))
# More than any number in range has; unbounded text would cost unbounded time.
_LONGEST_NUMBER: Final = 40
_encode: Final = msgspec.json.encode


def fit(value: Any, kind: Any) -> Any:
    """`value` in the shape of this type, for msgspec.convert; CodecError where Java has an error."""
    return _fitter(kind)(value)


def without_nulls(value: Any) -> Any:
    """Nulls left out of objects and arrays."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value if item is not None]
    return value


def as_text(value: Any) -> str:
    """Its text as a Java String."""
    return value if isinstance(value, str) else _encode(value).decode()


@cache
def _fitter(kind: Any) -> Fit:
    origin = get_origin(kind)
    arguments = get_args(kind)
    if origin is Annotated:
        return _fitter(arguments[0])
    if origin in (Union, UnionType):
        (inner,) = (one for one in arguments if one is not type(None))
        return _fitter(inner)
    if origin is Literal:
        return partial(_fit_enum, arguments)
    if origin in (list, set, frozenset):
        return partial(_fit_list, _fitter(arguments[0]))
    if origin is dict:
        return partial(_fit_map, _fitter(arguments[1]))
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        fields = {field.encode_name: _fitter(field.type) for field in msgspec.structs.fields(kind)}
        return partial(_fit_object, fields)
    return _SCALARS.get(kind, without_nulls)


def _fit_object(fields: Mapping[str, Fit], value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    known = {key: fields[key](item) for key, item in value.items() if key in fields}
    return {key: item for key, item in known.items() if item is not None}


def _fit_map(fit_value: Fit, value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    fitted = {key: fit_value(item) for key, item in value.items()}
    return {key: item for key, item in fitted.items() if item is not None}


def _fit_list(fit_item: Fit, value: Any) -> Any:
    if value is None or value == "":
        return None
    items = value if isinstance(value, list) else [value]
    return [item for item in map(fit_item, items) if item is not None]


def _fit_enum(names: tuple[str, ...], value: Any) -> Any:
    if isinstance(value, str):
        if value in names:
            return value
        if value.isascii() and value.isdecimal() and len(value) < _LONGEST_NUMBER:
            number = int(value)
            return names[number] if number < len(names) else None
        upper = value.upper()
        return next((name for name in names if name.upper() == upper), None)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not 0 <= value < len(names):
            raise CodecError(f"there is no value {value} among {len(names)}: {' '.join(names)}")
        return names[int(value)]
    return value


def _fit_bool(value: Any) -> Any:
    if isinstance(value, int | float):
        return value is True or (type(value) is int and value == 1)
    if isinstance(value, str):
        lower = value.lower()
        if lower in _TRUE:
            return True
        if lower in _FALSE:
            return False
        return value or None
    return value


def _fit_int(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return _whole(value)
    if isinstance(value, str):
        return _number_of(value, int)
    return value


def _fit_float(value: Any) -> Any:
    if isinstance(value, int):
        return float(value)
    return _number_of(value, float) if isinstance(value, str) else value


def _number_of(text: str, kind: type[int] | type[float]) -> Any:
    """The number that the text says, None for an empty text; a text that is not a number stays."""
    if not text or len(text) > _LONGEST_NUMBER or text != text.strip() or "_" in text:
        return text or None
    try:
        return kind(text)
    except ValueError:
        pass
    try:
        return _whole(float(text))
    except ValueError:
        return text


def _whole(number: float) -> int:
    try:
        return int(number)
    except (OverflowError, ValueError):
        raise CodecError(f"{number} is not a whole number") from None


def _fit_text(value: Any) -> Any:
    return None if value is None else as_text(value)


_SCALARS: Final[Mapping[Any, Fit]] = {
    str: _fit_text,
    bool: _fit_bool,
    int: _fit_int,
    float: _fit_float,
}
