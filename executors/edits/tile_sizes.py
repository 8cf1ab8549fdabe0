"""G: other tile sizes, by changing the literals that decide them.

Which sizes are worth trying follows what was measured on the H200 (bf16 4096^3): a 128x256x64 tile needs eight worker
warps or it spills; below 128x128 a block reuses too little of what it loads.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import libcst as cst

from kdiag.records import Launch, Promise, Safety, Scalar, ScalarArgument, Variant

from .arithmetic.matrix_roles import Roles, roles
from .base import Applied, Edit, Outcome, Skipped, Subject
from .examples.tile_sizes import EXAMPLES
from .hints import WARPS, has_clusters, hinted, multiplies_matrices, present_value
from .launches.blocks import ATOMICS
from .launches.tile_constant import TileConstant
from .launches.tile_constants import tile_constants
from .launches.tile_reductions import calls_unseen, reduces
from .launches.tile_shapes import shapes
from .launches.wrapper import hidden_builtin
from .syntax.bindings import names_in
from .syntax.kernel_source import KernelSource, integer, nodes, read_kernel, replace
from .syntax.rewriting import Changed

NO_SPILLS = Promise("compile.stack_bytes", "is-zero", "no registers are spilled")
MOST_VARIANTS = 14
SMALLEST_TILE, SMALL_TILE, LARGEST_TILE = 64, 4096, 8192  # elements
REGISTERS = 65536  # of an SM, each of 4 bytes: a larger tile spills, and takes 5 to 20 s to compile
TIMES, SQUARES = (2, 4, 8, 16, 32), (64, 32, 128)
BOUNDS = (2048, 4096, 1024)  # for a tile that follows the data


class TileSizes(Edit):
    """Change the tile sizes of a kernel and, where it helps, its number of worker warps."""

    id = "G"
    title = "Tile sizes"
    examples = EXAMPLES

    def variants(self, subject: Subject) -> tuple[Variant, ...]:
        """Sizes other than the present ones; those of a matrix product in the order in which they helped."""
        tiles = _read(subject.source, subject.kernel)
        if isinstance(tiles, Skipped):
            return ()
        part = tiles.roles
        product = part.m is not None or part.n is not None
        choices = _product_sizes(tiles, subject.target) if product else _other_sizes(tiles, subject.launches)
        named = {_name(settings): settings for settings in choices if tiles.possible(settings)}
        sizes = {setting: constant.value for setting, constant in tiles.by_setting.items()}
        present = sizes if all(sizes.values()) else {}
        return tuple(Variant(self.id, name, named[name], present) for name in list(named)[:MOST_VARIANTS])

    def apply(self, subject: Subject, variant: Variant) -> Outcome:
        """Write the variant's sizes into the literals, and its worker warps into the decorator."""
        tiles = _read(subject.source, subject.kernel)
        if isinstance(tiles, Skipped):
            return tiles
        if (refusal := tiles.refusal(variant.settings)) is not None:
            return refusal
        changes: dict[cst.CSTNode, Changed] = {}
        for constant, size in tiles.resized(variant.settings):
            changes.update(constant.replacements(size, changes))
        warps, read = variant.settings.get(WARPS), tiles.read
        if isinstance(warps, int) and warps != tiles.warps:
            decorator = hinted(read, read.decorator.decorator, WARPS, warps)
            if isinstance(decorator, Skipped):
                return decorator
            changes[read.decorator.decorator] = decorator
        first = read.first(_statement(read, node) for node in changes)
        return Applied(replace(read.module, changes), first, (NO_SPILLS,), tiles.safety(variant.settings))

    def safety(self, variant: Variant) -> Safety:
        """Whether sums change their order is for the source to say (`Applied.safety`); without it, they may."""
        return "changes-rounding"


@dataclass(frozen=True, eq=False)
class _Tiles:
    """The tile sizes of a kernel that can be edited. `reason` says why the others, if any, cannot."""

    read: KernelSource
    constants: tuple[TileConstant, ...]
    roles: Roles
    reason: str

    @property
    def by_setting(self) -> Mapping[str, TileConstant]:
        return {constant.setting: constant for constant in self.constants}

    @property
    def warps(self) -> int | None:
        return integer(present_value(self.read, WARPS))

    def of(self, parameter: str | None) -> TileConstant | None:
        return next((c for c in self.constants if c.parameter == parameter), None)

    def resized(self, settings: Mapping[str, Scalar]) -> list[tuple[TileConstant, int]]:
        """The constants that the settings change, with their new size."""
        return [
            (constant, size)
            for constant in self.constants
            if isinstance(size := settings.get(constant.setting), int) and size != constant.value
        ]

    def refusal(self, settings: Mapping[str, Scalar]) -> Skipped | None:
        """Why the settings cannot be written, None if they can."""
        unknown = settings.keys() - {WARPS} - self.by_setting.keys()
        if unknown:
            there = (
                f"the kernel has no tile size named {', '.join(sorted(unknown))}; it has {', '.join(self.by_setting)}"
            )
            return Skipped(self.reason or there)
        for name, size in settings.items():
            if type(size) is not int or size.bit_count() != 1 or size < 1:
                what = "a number of warps" if name == WARPS else "a tile size"
                return Skipped(f"{what} is a power of two, and {name}={size} is none")
        resized = self.resized(settings)
        if not resized:
            return Skipped(self.reason or "the tiles have these sizes already")
        for constant, size in resized:
            if not constant.allows(size):
                relied = "smaller: the kernel relies on its multiples"
                return Skipped(
                    f"{constant.name} can only become {relied if constant.shrinks else 'larger: it holds a row'}"
                )
        bounded = any(constant.capped for constant, _ in resized)
        return hidden_builtin(self.read, "min") if bounded else None

    def possible(self, settings: Mapping[str, Scalar]) -> bool:
        """Whether the settings change a size, and none to one that it may not take."""
        resized = self.resized(settings)
        return bool(resized) and all(constant.allows(size) for constant, size in resized)

    def safety(self, settings: Mapping[str, Scalar]) -> Safety:
        """A tile along K, and a tile that is reduced, decide the order of a sum."""
        depth = self.of(self.roles.k)
        deeper = depth is not None and settings.get(depth.setting, depth.value) != depth.value
        certain = not (deeper or reduces(self.read) or self.read.calls(*ATOMICS) or calls_unseen(self.read))
        return "safe" if certain else "changes-rounding"


@lru_cache(maxsize=4)
def _read(source: str, kernel: str) -> _Tiles | Skipped:
    """The kernel's tile sizes, or why none can be edited."""
    read = read_kernel(source, kernel)
    if isinstance(read, Skipped):
        return read
    found = tile_constants(read)
    if isinstance(found, Skipped):
        return found
    constants = tuple(c for c in found.values() if isinstance(c, TileConstant))
    reason = "; ".join(dict.fromkeys(c.reason for c in found.values() if isinstance(c, Skipped)))
    if not constants:
        return Skipped(reason)
    if not any(constant.grows or constant.shrinks for constant in constants):
        return Skipped("a tile is reduced and never combined with another, so its size is part of the result")
    part = roles(read, list(found)) if multiplies_matrices(read) else Roles()
    return _Tiles(read, constants, part, reason)


def _statement(read: KernelSource, node: cst.CSTNode) -> cst.CSTNode:
    """The statement around a node; of a body, its first."""
    return node.body[0] if isinstance(node, cst.BaseSuite) else read.statement(node)


def _name(settings: Mapping[str, Scalar]) -> str:
    return ",".join(f"{name}={value}" for name, value in settings.items())


def _product_sizes(tiles: _Tiles, target: str) -> list[dict[str, Scalar]]:
    """Settings for the product's M, N and K; K is named only where it changes."""
    m, n, k = (tiles.of(parameter) for parameter in (tiles.roles.m, tiles.roles.n, tiles.roles.k))
    choices: list[dict[str, Scalar]] = []
    for rows, columns, depth, warps in _shapes(k.value if k else None):
        settings: dict[str, Scalar] = {}
        wanted = ((m, rows), (n, columns), (k, depth))
        for constant, value in wanted:
            if constant is not None and (constant is not k or value != constant.value):
                settings.setdefault(constant.setting, value)
        alone = all(c is None or value in (None, settings.get(c.setting, value)) for c, value in wanted)
        if alone and (warps is None or has_clusters(target)):
            choices.append(settings if warps is None else {**settings, WARPS: warps})
    return choices


def _shapes(depth: int | None) -> Iterator[tuple[int, int, int | None, int | None]]:
    """M, N, K and worker warps, the most promising first; a K of None is no choice."""
    depths: tuple[int | None, ...] = (None,) if depth is None else (64, 32, 128)
    wide = ((128, 256), (256, 128))
    yield from ((*shape, depth, 8) for shape in wide)
    yield from ((128, 128, value, None) for value in depths)
    yield from ((*shape, depth, None) for shape in ((128, 64), (64, 128), *wide, (64, 64), (256, 64), (64, 256)))
    for shape in ((64, 64), (128, 64), (64, 128)):
        yield from ((*shape, value, None) for value in depths if value != depth)


def _other_sizes(tiles: _Tiles, launches: tuple[Launch, ...]) -> list[dict[str, Scalar]]:
    """Each constant doubled, quadrupled and halved, as long as its tiles stay within reason; small tiles also several
    times as large, and two sides of one tile together.
    """
    wanted: list[dict[str, int]] = []
    if len(tiles.constants) == 2 and all(constant.value for constant in tiles.constants):
        sides = [constant.setting for constant in tiles.constants]
        wanted += [dict.fromkeys(sides, edge) for edge in SQUARES]
    for constant in tiles.constants:
        size = constant.value
        multiples = [] if size is None else [times * size for times in TIMES]
        near = BOUNDS if size is None else (*multiples[:2], size // 2)
        far = [value for value in multiples[2:] if _largest_tile(tiles, {constant.setting: value}, {}) <= SMALL_TILE]
        wanted += [{constant.setting: value} for value in (*near, *far)]
    choices: list[dict[str, Scalar]] = []
    for settings in wanted:
        fits = SMALLEST_TILE <= _largest_tile(tiles, settings, {}) <= LARGEST_TILE
        held = all(_largest_tile(tiles, settings, _passed(launch)) <= REGISTERS for launch in launches)
        if fits and held and settings not in choices:
            choices.append({**settings})
    return choices


def _passed(launch: Launch) -> dict[str, int]:
    given = (each for each in launch.arguments if isinstance(each, ScalarArgument))
    return {each.name: each.value for each in given if isinstance(each.value, int)}


def _largest_tile(tiles: _Tiles, settings: Mapping[str, int], passed: Mapping[str, int]) -> int:
    """The elements of the largest tile that the settings change; a dimension of unknown size, which is not `passed` to the
    kernel either, counts as one.
    """
    sizes = {**passed, **{c.parameter: settings.get(c.setting, c.value or 1) for c in tiles.constants}}
    changed = {c.parameter for c in tiles.constants if c.setting in settings}
    largest = 0
    for shape in shapes(tiles.read):
        names = names_in(shape)
        if changed <= names or (len(changed) == 1 and changed & names):
            elements = 1
            for literal in nodes(shape, cst.Integer):
                elements *= literal.evaluated_value
            for name in names:
                elements *= sizes.get(name, 1)
            largest = max(largest, elements)
    return largest
