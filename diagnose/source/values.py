"""What is known about a value in a kernel: a tile, something read from memory, how its elements follow each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum, auto


class Kind(Enum):
    """A property that a value may have.

    BLOCK is the block's index itself, FROM_BLOCK anything computed from it. CLAMPED is a `min` of something computed
    from it, as in the size of the last group of a swizzle. WIDE is a tile with an element for each that was loaded or
    made, in contrast to one that a reduction left. IRREGULAR is a tile whose elements follow no affine rule,
    UNKNOWN the result of a function whose text was not found.
    """

    TILE = auto()
    WIDE = auto()
    LOADED = auto()
    BLOCK = auto()
    FROM_BLOCK = auto()
    BLOCK_COUNT = auto()
    CLAMPED = auto()
    IRREGULAR = auto()
    UNKNOWN = auto()


Kinds = frozenset[Kind]
NOTHING: Kinds = frozenset()
# What belongs to one value alone and is lost when another is computed from it.
_OWN = frozenset({Kind.BLOCK, Kind.CLAMPED})
MAX_AXES = 5  # of a tile index; deeper nesting of `[:, None]` is not told apart

# By tile axis counted from the last: the difference between neighbouring elements, None if unknown.
Steps = tuple[tuple[int, int | None], ...]


@dataclass(frozen=True)
class Value:
    """`steps` says how an index varies along the axes of the tile; an axis that is missing does not vary.

    `dtype` is the type of a tile, or the type itself for `ct.float32`. `static` values are known when the kernel is
    compiled, `number` is such a value where the text shows it. `items` are those of a tuple, `mode` is the
    padding of a view, or `PaddingMode.X` itself.
    """

    kinds: Kinds = NOTHING
    steps: Steps = ()
    dtype: str | None = None
    static: bool = False
    number: int | None = None
    items: tuple[Value, ...] | None = None
    mode: str | None = None

    @property
    def is_reduced(self) -> bool:
        """Whether the value is a tile of which a reduction left little: what is done to it costs next to nothing."""
        return Kind.TILE in self.kinds and Kind.WIDE not in self.kinds

    @property
    def is_tile(self) -> bool:
        """Whether the value may be a tile."""
        return Kind.TILE in self.kinds


UNDECIDED = Value()
STATIC = Value(static=True)


def number(value: int) -> Value:
    return Value(static=True, number=value)


def join(first: Value, second: Value) -> Value:
    """What holds if a value is one or the other."""
    if first == second:
        return first
    items = None
    if first.items is not None and second.items is not None and len(first.items) == len(second.items):
        items = tuple(map(join, first.items, second.items))
    return Value(
        kinds=first.kinds | second.kinds,
        steps=_either(first.steps, second.steps),
        dtype=_same(first.dtype, second.dtype),
        static=first.static and second.static,
        number=first.number if first.number == second.number else None,
        items=items,
        mode=_same(first.mode, second.mode),
    )


def combined(values: Iterable[Value], dtype: str | None = None) -> Value:
    """A value computed from others by an unknown rule: irregular if it is a tile that varies."""
    parts = list(values)
    kinds: Kinds = frozenset().union(*(part.kinds for part in parts)) - _OWN
    if any(part.steps for part in parts):
        kinds |= {Kind.IRREGULAR}
    return Value(kinds, dtype=dtype, static=all(part.static for part in parts))


def same_type(values: Iterable[Value]) -> str | None:
    """The type that elementwise arithmetic of these values has, None if that takes a rule of promotion.

    A literal adapts to the tile beside it; float32 also absorbs the run-time scalars that kernels take.
    """
    parts = list(values)
    tiles = {part.dtype for part in parts if part.is_tile}
    if len(tiles) != 1:
        return None
    adapts = tiles == {"float32"} or all(part.is_tile or part.static for part in parts)
    return tiles.pop() if adapts else None


def add(left: Value, right: Value, sign: int = 1) -> Value:
    """The sum, or with the sign -1 the difference."""
    total = None
    if left.number is not None and right.number is not None:
        total = left.number + sign * right.number
    steps = dict(left.steps)
    for axis, step in right.steps:
        before = steps.get(axis, 0)
        steps[axis] = None if step is None or before is None else before + sign * step
    return replace(_arithmetic(left, right), steps=tuple(sorted(steps.items())), number=total)


def multiply(left: Value, right: Value) -> Value:
    """The product: an index times a number of known value keeps its rule."""
    if left.steps and right.steps:
        return combined((left, right), same_type((left, right)))
    index, factor = (left, right) if left.steps else (right, left)
    product = None
    if left.number is not None and right.number is not None:
        product = left.number * right.number
    known = factor.number
    steps = tuple((a, None if s is None or known is None else s * known) for a, s in index.steps)
    return replace(_arithmetic(left, right), steps=steps, number=product)


def shifted(value: Value, axes: int) -> Value:
    """The tile with `axes` new axes behind its last."""
    steps = tuple((min(axis + axes, MAX_AXES), step) for axis, step in value.steps)
    return replace(value, steps=steps)


def unordered(value: Value) -> Value:
    """The tile with its elements in another order: they still follow from its rule, by unknown steps."""
    return replace(value, steps=tuple((axis, None) for axis, _ in value.steps))


def _arithmetic(left: Value, right: Value) -> Value:
    kinds = (left.kinds | right.kinds) - _OWN
    return Value(kinds, dtype=same_type((left, right)), static=left.static and right.static)


def _either(first: Steps, second: Steps) -> Steps:
    left, right = dict(first), dict(second)
    axes = sorted(left.keys() | right.keys())
    return tuple((axis, left.get(axis, 0) if left.get(axis, 0) == right.get(axis, 0) else None) for axis in axes)


def _same(first: str | None, second: str | None) -> str | None:
    return first if first == second else None
