"""Frozen dataclasses to JSON values and back, guided by their type hints.

Knows dataclasses, tuples, lists, mappings with string keys, `Literal`, unions, None and scalars; the hint `object`
lets a JSON value through as it is. A float that JSON has no word for (an infinite error is common) becomes
`{"$float": "inf"}`. What does not fit its hint is a DecodeError that names the place.
"""

import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Record = TypeVar("Record")


class DecodeError(ValueError):
    """A JSON value that is not what the type hint says."""


def encode(value: object) -> object:
    """The JSON value of a record. Raises TypeError for a type that this module does not know."""
    if is_dataclass(value) and not isinstance(value, type):
        return {entry.name: encode(getattr(value, entry.name)) for entry in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, str) or value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": repr(float(value))}
    if isinstance(value, Sequence):
        return [encode(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no JSON form")


def decode(record: type[Record], value: object) -> Record:
    """The dataclass `record` from what `encode` made of it. Raises DecodeError."""
    decoded: Record = _decode(record, _revive(value), record.__name__)
    return decoded


def _revive(value: object) -> object:
    """The JSON value with the floats that JSON has no word for."""
    if isinstance(value, dict):
        if set(value) == {"$float"}:
            return float(str(value["$float"]))
        return {key: _revive(item) for key, item in value.items()}
    return [_revive(item) for item in value] if isinstance(value, list) else value


def _decode(hint: Any, value: object, where: str) -> Any:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _decode_union(get_args(hint), value, where)
    if isinstance(origin, type) and issubclass(origin, Sequence | Mapping):
        return _decode_container(origin, get_args(hint), value, where)
    if is_dataclass(hint):
        return _decode_record(hint, value, where)
    fits = value in get_args(hint) if origin is Literal else hint is object or type(value) is hint
    if hint is float and type(value) is int and abs(value) < 10**300:
        return float(value)
    return value if fits or (hint is type(None) and value is None) else _refuse(hint, value, where)


def _decode_union(hints: tuple[Any, ...], value: object, where: str) -> object:
    # The exact type first: 1 in `float | int` stays an int, and True in `int | bool` a bool.
    for hint in sorted(hints, key=lambda hint: type(value) is not hint):
        try:
            return _decode(hint, value, where)
        except DecodeError:
            continue
    return _refuse(" | ".join(map(str, hints)), value, where)


def _decode_container(origin: type, hints: tuple[Any, ...], value: object, where: str) -> object:
    if issubclass(origin, Mapping):
        if not isinstance(value, dict):
            return _refuse("a mapping", value, where)
        return {key: _decode(hints[1], item, f"{where}.{key}") for key, item in value.items()}
    if not isinstance(value, list):
        return _refuse("a list", value, where)
    if hints[-1] is Ellipsis or not issubclass(origin, tuple):
        hints = (hints[0],) * len(value)
    if len(hints) != len(value):
        return _refuse(f"a list of {len(hints)}", value, where)
    items = [_decode(hint, item, f"{where}[{n}]") for n, (hint, item) in enumerate(zip(hints, value, strict=True))]
    return tuple(items) if issubclass(origin, tuple) else items


def _decode_record(record: Any, value: object, where: str) -> object:
    if not isinstance(value, dict):
        return _refuse(record, value, where)
    hints = _hints(record)
    required = {e.name for e in fields(record) if e.default is MISSING and e.default_factory is MISSING}
    for problem, names in (("lacks", required - set(value)), ("has the unknown", set(value) - set(hints))):
        if names:
            raise DecodeError(f"{where} {problem} {', '.join(sorted(names))}")
    return record(**{name: _decode(hints[name], item, f"{where}.{name}") for name, item in value.items()})


@cache
def _hints(record: type) -> dict[str, Any]:
    return get_type_hints(record)


def _refuse(wanted: object, value: object, where: str) -> Any:
    name = wanted.__name__ if isinstance(wanted, type) else wanted
    raise DecodeError(f"{where} is {str(value)[:60]!r}, which is not {name}")
