"""How an argument is filled: by the name of a rule, a seed and a size."""

import numpy as np
from bits import FLOATS, SIGNED, Bits, encode, raw, specials, spread, storage, width

CROSSED = 10  # special values of a binary operation's operand, each met by each of the other's
POISON = 0xA5  # what an output holds before the launch, in every byte


def fill(rule: str | tuple[object, ...], dtype: str, count: int, seed: int) -> Bits:
    """The bits of an argument. A tuple is the values themselves, repeated to the size."""
    if isinstance(rule, tuple):
        return np.resize(encode(dtype, rule), count)
    if rule.startswith("below"):  # below-N: integers 0 to N - 1
        return (raw(seed, count) % np.uint64(int(rule.split("-")[1]))).astype(storage(dtype))
    if rule == "count":  # 0, 1, 2, ...: tells where each element came from
        return encode(dtype, range(count)) if dtype != "bool" else np.resize(encode(dtype, [1, 0, 0]), count)
    return RULES[rule](dtype, count, seed)


def poison(dtype: str, count: int) -> Bits:
    """What an output is filled with: no result, and 1 for booleans, which hold nothing else."""
    value = 1 if dtype == "bool" else int.from_bytes(bytes([POISON]) * (width(dtype) // 8), "little")
    return np.full(count, value, storage(dtype))


def _any(dtype: str, count: int, seed: int) -> Bits:
    """Any bit pattern, NaNs and subnormals included."""
    if dtype == "bool":
        return (raw(seed, count) >> np.uint64(63)).astype(np.uint8)
    return (raw(seed, count) >> np.uint64(64 - width(dtype))).astype(storage(dtype))


def _ordinary(dtype: str, count: int, seed: int) -> Bits:
    """Numbers of moderate size: floats of 2**-4 to 2**3, integers of -100 to 100 (0 to 100)."""
    if dtype in FLOATS:
        return spread(dtype, seed, count, -4, 2)
    return _integers(dtype, count, seed, 100)


def _special(dtype: str, count: int, seed: int) -> Bits:
    """The special values, then ordinary ones and any bits by turns."""
    edges = specials(dtype)
    rest = np.where(np.arange(count) % 2, _any(dtype, count, seed + 1), _ordinary(dtype, count, seed))
    return np.concatenate([edges, rest])[:count]


def _positive(dtype: str, count: int, seed: int) -> Bits:
    """Floats of 0.5 to 2: sums without cancellation."""
    return spread(dtype, seed, count, -1, 0, positive=True)


def _small(dtype: str, count: int, seed: int) -> Bits:
    """Integers of -3 to 3 (0 to 3): sums and products of them are exact in any order."""
    return _integers(dtype, count, seed, 3)


def _integers(dtype: str, count: int, seed: int, most: int) -> Bits:
    words = raw(seed, count)
    if dtype == "bool":
        return (words >> np.uint64(63)).astype(np.uint8)
    if dtype in SIGNED or dtype in FLOATS:
        return encode(dtype, (words % np.uint64(2 * most + 1)).astype(np.int64) - most)
    return encode(dtype, (words % np.uint64(most + 1)).astype(np.int64))


def _quarters(dtype: str, count: int, seed: int) -> Bits:
    """Multiples of 0.25 of either sign, none of them zero."""
    number = (raw(seed, count) % np.uint64(40)).astype(np.int64) - 20
    return encode(dtype, np.where(number >= 0, number + 1, number) / 4)


def _few(dtype: str) -> Bits:
    values = [*specials(dtype)]
    if dtype in FLOATS:
        return np.array([*values[: CROSSED - 2], *encode(dtype, [1.5, -2.0])], storage(dtype))
    return np.array(values[:CROSSED], storage(dtype))


def _left(dtype: str, count: int, seed: int) -> Bits:
    """With `right`: each special value with each, then ordinary ones."""
    return np.concatenate([np.repeat(_few(dtype), len(_few(dtype))), _ordinary(dtype, count, seed)])[:count]


def _right(dtype: str, count: int, seed: int) -> Bits:
    return np.concatenate([np.tile(_few(dtype), len(_few(dtype))), _ordinary(dtype, count, seed)])[:count]


def _dividends(dtype: str, count: int, seed: int) -> Bits:
    """With `divisors`: as `left` and `right`, without what integer division leaves undefined."""
    values = _left(dtype, count, seed)
    smallest = 1 << (width(dtype) - 1)
    return np.where(values == smallest, values + values.dtype.type(1), values) if dtype in SIGNED else values


def _divisors(dtype: str, count: int, seed: int) -> Bits:
    values = _right(dtype, count, seed)
    return np.where(values == 0, values.dtype.type(3), values)


RULES = {
    "any": _any, "ordinary": _ordinary, "special": _special, "positive": _positive, "small": _small,
    "quarters": _quarters, "left": _left, "right": _right, "dividends": _dividends, "divisors": _divisors,
}  # fmt: skip
