"""Numbers that a launch decides: sums of products of its grid, its arguments, and the extents of its arrays.

A kernel counts in such numbers. The host can compute them before the launch, and so can kdiag for a captured one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

from kdiag.records import ArrayArgument, Launch, ScalarArgument


@dataclass(frozen=True)
class Blocks:
    """The number of blocks along an axis of the grid."""

    axis: int


@dataclass(frozen=True)
class Extent:
    """The number of elements of an array parameter along an axis."""

    array: str
    axis: int


@dataclass(frozen=True)
class Passed:
    """What the launch passes for a scalar or constant parameter."""

    parameter: str


@dataclass(frozen=True)
class Quotient:
    """A quotient of two numbers, rounded up or down."""

    numerator: LaunchValue
    denominator: LaunchValue
    up: bool


Atom = Blocks | Extent | Passed | Quotient
Product = tuple[Atom, ...]


@dataclass(frozen=True)
class LaunchValue:
    """A sum of products, each with its whole coefficient; equal numbers that differ in their order are equal."""

    terms: Mapping[Product, int] = field(default_factory=dict)

    @staticmethod
    def of(value: int | Atom) -> LaunchValue:
        """A number or an atom."""
        terms = {(): value} if isinstance(value, int) else {(value,): 1}
        return LaunchValue({product: count for product, count in terms.items() if count})

    def __add__(self, other: LaunchValue | int) -> LaunchValue:
        terms = dict(self.terms)
        for product, count in _value(other).terms.items():
            terms[product] = terms.get(product, 0) + count
        return LaunchValue({product: count for product, count in terms.items() if count})

    def __mul__(self, other: LaunchValue | int) -> LaunchValue:
        result = LaunchValue()
        for left, first in self.terms.items():
            for right, second in _value(other).terms.items():
                product = tuple(sorted((*left, *right), key=repr))
                result = result + LaunchValue({product: first * second})
        return result

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    @property
    def atoms(self) -> Iterator[Atom]:
        """Everything the number is made of, inside quotients as well."""
        for product in self.terms:
            for atom in product:
                yield atom
                if isinstance(atom, Quotient):
                    yield from atom.numerator.atoms
                    yield from atom.denominator.atoms

    def in_launch(self, launch: Launch) -> int | None:
        """The number in one captured launch; None where the launch does not say."""
        total = 0
        for product, count in self.terms.items():
            factors = [_in_launch(atom, launch) for atom in product]
            known = [factor for factor in factors if factor is not None]
            if len(known) < len(factors):
                return None
            total += count * prod(known)
        return total


def _value(value: LaunchValue | int) -> LaunchValue:
    return LaunchValue.of(value) if isinstance(value, int) else value


def _in_launch(atom: Atom, launch: Launch) -> int | None:
    match atom:
        case Blocks(axis):
            return launch.grid[axis] if axis < len(launch.grid) else 1
        case Quotient(numerator, denominator, up):
            above, below = numerator.in_launch(launch), denominator.in_launch(launch)
            if above is None or not below:
                return None
            return -(-above // below) if up else above // below
    for argument in launch.arguments:
        match atom, argument:
            case Extent(name, axis), ArrayArgument(named, _, shape) if name == named and axis < len(shape):
                return shape[axis]
            case Passed(name), ScalarArgument(named, int() as value) if name == named:
                return value
    return None
