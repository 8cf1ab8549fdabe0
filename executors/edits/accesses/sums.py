"""Sums of products of names and numbers: what index arithmetic comes to, whichever way it is spelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Product = tuple[str, ...]
"""The texts of the factors of a product, in alphabetical order; the empty one is the number 1."""


@dataclass(frozen=True)
class Sum:
    """`terms` maps each product to the number of times it is in the sum; no term is 0."""

    terms: Mapping[Product, int] = field(default_factory=dict)

    @staticmethod
    def of(text: str) -> Sum:
        """The sum that is one name or other indivisible text."""
        return Sum({(text,): 1})

    @staticmethod
    def number(value: int) -> Sum:
        return Sum({(): value} if value else {})

    def plus(self, other: Sum, times: int = 1) -> Sum:
        """The sum of it and `times` the other one."""
        terms = dict(self.terms)
        for product, count in other.terms.items():
            terms[product] = terms.get(product, 0) + times * count
        return Sum({product: count for product, count in terms.items() if count})

    def times(self, other: Sum) -> Sum:
        """The product of two sums, multiplied out."""
        result = Sum()
        for mine, count in self.terms.items():
            for theirs, more in other.terms.items():
                result = result.plus(Sum({tuple(sorted((*mine, *theirs))): count * more}))
        return result

    def divided(self, size: str) -> tuple[Sum, Sum]:
        """The quotient by `size`, a name or a number above 0, of the terms it divides, and the sum of the others."""
        quotient: dict[Product, int] = {}
        rest: dict[Product, int] = {}
        for product, count in self.terms.items():
            if size in product:
                factors = list(product)
                factors.remove(size)
                quotient[tuple(factors)] = count
            elif size.isdecimal() and count % int(size) == 0:
                quotient[product] = count // int(size)
            else:
                rest[product] = count
        return Sum(quotient), Sum(rest)

    @property
    def single(self) -> str | None:
        """The text of a sum that is just one name or other indivisible text."""
        match list(self.terms.items()):
            case [((text,), 1)]:
                return text
        return None

    @property
    def constant(self) -> int | None:
        """The value of a sum that is just a number."""
        return self.terms.get((), 0) if set(self.terms) <= {()} else None

    def text(self) -> str:
        """The sum as source text; positive terms come first."""
        if self.single is not None:
            return self.single
        ordered = sorted(self.terms.items(), key=lambda term: (term[1] < 0, term[0] == ()))
        shown = ""
        for product, count in ordered:
            factors = [*([] if abs(count) == 1 and product else [str(abs(count))]), *map(_factor, product)]
            sign = " - " if count < 0 else " + "
            shown += (sign if shown else sign.strip().replace("+", "")) + " * ".join(factors)
        return shown or "0"


def _factor(text: str) -> str:
    """The text as a factor: anything but a name, a call, a subscript or an attribute stands in parentheses."""
    depth = 0
    for character in text:
        depth += character in "([{"
        depth -= character in ")]}"
        if depth == 0 and not (character.isalnum() or character in "_.)]}"):
            return f"({text})"
    return text
