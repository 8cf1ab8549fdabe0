"""A tile size that can be edited: which nodes decide it, and what they become for another size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import libcst as cst

from ..syntax.kernel_source import dotted
from ..syntax.rewriting import Changed, behind_docstring


@dataclass(frozen=True, eq=False)
class TileConstant:
    """A tile size: the kernel's parameter, the name that grid and loops follow, and what decides it.

    `value` is the present size, None where the size follows the data; `literals` say it, `repeats` say it again in the grid,
    each with what is to be added to the size there (-1 in `(n + 255) // 256`); `capped` are the expressions that follow the data and
    get an upper bound, `shadowed` the launch wrappers that get a constant of their own because others share it.
    `chained` is the line of `A = B = 16`, of which the size takes its own name out.
    `also` changes with it whatever the size is. A constant that does not grow may only be divided, since something relies on its multiples; one that does not
    shrink is reduced as a whole, and must hold a row of the data.
    """

    parameter: str
    name: str
    value: int | None
    assignment: cst.CSTNode
    literals: tuple[cst.Integer, ...] = ()
    repeats: Mapping[cst.Integer, int] = field(default_factory=dict)
    capped: tuple[cst.BaseExpression, ...] = ()
    shadowed: tuple[cst.FunctionDef, ...] = ()
    chained: cst.SimpleStatementLine | None = None
    also: Mapping[cst.CSTNode, cst.CSTNode] = field(default_factory=dict)
    grows: bool = True
    shrinks: bool = True

    @property
    def setting(self) -> str:
        """What a variant calls it."""
        return self.name.lower()

    def allows(self, size: int) -> bool:
        """Whether the size may take this value."""
        return self.value is None or (self.grows if size > self.value else self.shrinks)

    def joined(self, other: TileConstant) -> TileConstant:
        """The same size in two launches: both change together."""
        return replace(
            self,
            literals=tuple(dict.fromkeys((*self.literals, *other.literals))),
            repeats={**self.repeats, **other.repeats},
            capped=tuple(dict.fromkeys((*self.capped, *other.capped))),
            shadowed=tuple(dict.fromkeys((*self.shadowed, *other.shadowed))),
            also={**self.also, **other.also},
            grows=self.grows and other.grows,
            shrinks=self.shrinks and other.shrinks,
        )

    def replacements(self, size: int, others: Mapping[cst.CSTNode, Changed]) -> Iterator[tuple[cst.CSTNode, Changed]]:
        """The nodes of the file to exchange for another size, besides those that other sizes exchange."""
        yield from self.also.items()
        if self.chained is not None:
            yield self.chained, _unchained(others.get(self.chained, self.chained), self.name, size)
        for literal, offset in {**dict.fromkeys(self.literals, 0), **self.repeats}.items():
            yield literal, literal.with_changes(value=str(size + offset))
        for expression in self.capped:
            function, bound = cst.Name("min"), cst.Arg(cst.Integer(str(size)))
            bare = expression.with_changes(lpar=(), rpar=())
            yield expression, cst.Call(function, [bound, cst.Arg(bare)])
        for wrapper in self.shadowed:
            line = cst.parse_statement(f"{self.name} = {size}")
            yield wrapper.body, wrapper.body.with_changes(body=behind_docstring(wrapper, line))


def _unchained(lines: Changed, name: str, size: int) -> Changed:
    """`A = B = 16` as a line for A and one for the others; of `lines` the last may still be one for several names."""
    *before, last = lines if isinstance(lines, cst.FlattenSentinel) else (lines,)
    line = cst.ensure_type(last, cst.SimpleStatementLine)
    assignment = cst.ensure_type(line.body[0], cst.Assign)
    own = [target for target in assignment.targets if dotted(target.target) == name]
    rest = [target for target in assignment.targets if target not in own]
    resized = assignment.with_changes(targets=own, value=cst.Integer(str(size)))
    if not rest:
        return cst.FlattenSentinel([*before, line.with_changes(body=[resized])])
    first = line.with_changes(body=[resized], trailing_whitespace=cst.TrailingWhitespace())
    kept = line.with_changes(body=[assignment.with_changes(targets=rest)], leading_lines=())
    return cst.FlattenSentinel([*before, first, kept])
