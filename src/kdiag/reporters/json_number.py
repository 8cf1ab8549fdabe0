"""What JSON can hold."""

import math
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass


def finite(value: float | None) -> float | None:
    """The number, None for one that is not known, infinite or NaN, which JSON does not have."""
    return value if value is not None and math.isfinite(value) else None


def fields(record: object, names: str) -> dict[str, object]:
    """The fields that are named, as plain values."""
    return {name: _plain(getattr(record, name)) for name in names.split()}


def _plain(value: object) -> object:
    if isinstance(value, float):
        return finite(value)
    if isinstance(value, tuple):
        return [*map(_plain, value)]
    if isinstance(value, Mapping):
        return dict(value)
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
