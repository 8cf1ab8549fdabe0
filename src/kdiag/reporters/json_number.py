"""Numbers that JSON can hold."""

import math


def finite(value: float | None) -> float | None:
    """The number, None for one that is not known, infinite or NaN, which JSON does not have."""
    return value if value is not None and math.isfinite(value) else None
