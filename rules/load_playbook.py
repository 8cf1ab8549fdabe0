"""The playbook as data: one TOML file per optimization in `rules/playbook`, read, checked and made records.

A gain is a ratio of times, old over new (1.35 is 35 % faster, 0.2 five times slower), for one cause on one
architecture. `n` counts the measured comparisons behind it; 0 means that nobody measured and `source` says so. A file's
`measured` ("H200, measured 2026-11") ends the source of each of its measurements that does not say this itself.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Literal, cast, get_args

from kdiag.errors import KdiagError
from kdiag.records import Grid, Safety

from .load_metrics import load_metrics

EdgeKind = Literal["requires", "conflicts", "enables", "searches"]
Table = Mapping[str, object]

KEYS = {
    "id",
    "title",
    "tier",
    "safety",
    "summary",
    "reference",
    "cost_s",
    "measured",
    "lifts_roof",
    "targets",
    "treats",
}
TIERS = range(1, 6)


@dataclass(frozen=True)
class Gain:
    """What an optimization did to the time of a kernel with a given cause: ratios of times, old over new."""

    low: float
    mid: float
    high: float
    n: int
    source: str


@dataclass(frozen=True)
class Treat:
    """An optimization's effect on one cause; `gains` by architecture ("sm_90"), "any" for all others.

    `variant` restricts it to variants that contain all of its comma-separated settings; "" is every variant.
    `moves` says what it must do to the hardware to treat the cause: metrics of `metrics.toml` or `compile.*`
    observations that go down ("-dram_read_bytes") or up ("+tensor_pct"). Where `tiles` is "larger" or "smaller", no
    variant that resizes them the other way treats it; where `grid` is "kept" (tiles of a loop) or "changed" (tiles that
    decide the number of blocks), none that does otherwise.
    """

    cause: str
    variant: str
    gains: Mapping[str, Gain]
    moves: tuple[str, ...] = ()
    tiles: Literal["", "larger", "smaller"] = ""
    grid: Grid = ""

    def opposes(self, growth: float | None, grid: Grid) -> bool:
        """Whether tiles that grow by this factor go the other way, or the grid does; "" is not known."""
        if self.grid and grid and self.grid != grid:
            return True
        if not self.tiles or growth is None:
            return False
        return growth <= 1 if self.tiles == "larger" else growth >= 1


@dataclass(frozen=True)
class Edge:
    """How one optimization bears on another. `gain` is the target's gain once the source was kept.

    One that `searches` another times the other's variants and keeps the best.
    """

    kind: EdgeKind
    variant: str
    optimization: str
    target_variant: str
    reason: str
    gains: Mapping[str, Gain] = field(default_factory=dict)


@dataclass(frozen=True)
class Targets:
    """Where an optimization can act: the lowest compute capability ("9.0"), and why."""

    min_compute_capability: str
    note: str


@dataclass(frozen=True)
class Optimization:
    """A playbook entry. `cost_s` is what trying one variant costs, in seconds of compilation and measurement.

    `lifts_roof` marks an edit that moves the work to a faster unit, so that the headroom of the old roofline
    does not bound it.
    """

    id: str
    title: str
    tier: int
    safety: Safety
    summary: str
    reference: str
    cost_s: float
    lifts_roof: bool
    targets: Targets
    treats: tuple[Treat, ...]
    edges: tuple[Edge, ...]


@cache
def load() -> Mapping[str, Optimization]:
    """The bundled playbook by id, in the order of the ids. Raises KdiagError where a file breaks the schema."""
    entries = [entry for entry in files(__package__).joinpath("playbook").iterdir() if entry.name.endswith(".toml")]
    playbook = [parse(entry.name, entry.read_text()) for entry in sorted(entries, key=lambda entry: entry.name)]
    return {optimization.id: optimization for optimization in playbook}


def parse(name: str, text: str) -> Optimization:
    """One playbook file. Raises KdiagError naming the file and the key that is wrong."""
    try:
        table: Table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise KdiagError(f"{name} is not valid TOML: {error}.") from None
    measured = _optional(name, table, "measured")
    unknown = set(table) - KEYS - set(get_args(EdgeKind))
    if unknown:
        raise KdiagError(f"{name} has the unknown key {min(unknown)}; correct or remove it.")
    safety = _text(name, table, "safety")
    tier = _number(name, table, "tier")
    if safety not in get_args(Safety) or tier not in TIERS:
        raise KdiagError(f"{name}: safety is one of {', '.join(get_args(Safety))}, tier is 1 to 5.")
    return Optimization(
        id=_text(name, table, "id"),
        title=_text(name, table, "title"),
        tier=int(tier),
        safety=cast("Safety", safety),
        summary=_text(name, table, "summary"),
        reference=_text(name, table, "reference"),
        cost_s=_number(name, table, "cost_s"),
        lifts_roof=table.get("lifts_roof") is True,
        targets=_targets(name, table.get("targets")),
        treats=tuple(_treat(name, entry, measured) for entry in _tables(name, table, "treats")),
        edges=tuple(
            _edge(name, kind, entry, measured) for kind in get_args(EdgeKind) for entry in _tables(name, table, kind)
        ),
    )


def matches(pattern: str, variant: str) -> bool:
    """Whether `variant` has every comma-separated setting of `pattern`; the empty pattern matches all."""
    return set(filter(None, pattern.split(","))) <= set(variant.split(","))


def _targets(name: str, value: object) -> Targets:
    if not isinstance(value, dict):
        raise KdiagError(f"{name} needs [targets] with min_compute_capability and note.")
    return Targets(_text(name, value, "min_compute_capability"), _text(name, value, "note"))


def _treat(name: str, table: Table, measured: str) -> Treat:
    gains = _gains(name, table, measured)
    if not gains:
        raise KdiagError(f"{name}: a [[treats]] entry needs gain.<architecture>, gain.any or guess.")
    tiles, grid = _optional(name, table, "tiles"), _optional(name, table, "grid")
    if tiles not in ("", "larger", "smaller") or grid not in get_args(Grid):
        raise KdiagError(f"{name}: tiles is larger or smaller, not {tiles}; grid is kept or changed, not {grid}.")
    sized, kept = cast("Literal['', 'larger', 'smaller']", tiles), cast("Grid", grid)
    cause, variant = _text(name, table, "cause"), _optional(name, table, "variant")
    return Treat(cause, variant, gains, _moves(name, table), sized, kept)


def _moves(name: str, table: Table) -> tuple[str, ...]:
    moves = table.get("moves", [])
    if not isinstance(moves, list) or not all(map(_is_move, moves)):
        raise KdiagError(
            f'{name}: moves is a list of signed metrics such as "-dram_read_bytes", not {moves!r}; '
            "the names are those of metrics.toml and compile.*."
        )
    return tuple(moves)


def _is_move(move: object) -> bool:
    signed = isinstance(move, str) and move[:1] in ("+", "-")
    return signed and (str(move)[1:] in load_metrics() or str(move)[1:].startswith("compile."))


def _edge(name: str, kind: EdgeKind, table: Table, measured: str) -> Edge:
    source, target = _optional(name, table, "variant"), _optional(name, table, "target_variant")
    other, gains = _text(name, table, "optimization"), _gains(name, table, measured)
    return Edge(kind, source, other, target, _text(name, table, "reason"), gains)


def _gains(name: str, table: Table, measured: str) -> Mapping[str, Gain]:
    entries = table.get("gain", {})
    if not isinstance(entries, dict):
        raise KdiagError(f"{name}: gain is a table by architecture.")
    gains = {target: _gain(name, entry, measured) for target, entry in entries.items()}
    return {**gains, "any": _guess(name, table)} if "guess" in table else gains


def _guess(name: str, table: Table) -> Gain:
    """`guess = [low, mid, high]`, with a `reason` or without: what is expected where nobody measured."""
    reason = f": {_text(name, table, 'reason')}" if "reason" in table else ""
    return _gain(name, {"range": table["guess"], "n": 0, "source": f"no measurement; conservative guess{reason}"})


def _gain(name: str, table: object, measured: str = "") -> Gain:
    edges = table.get("range") if isinstance(table, dict) else None
    if not isinstance(table, dict) or not isinstance(edges, list) or len(edges) != 3:
        raise KdiagError(f"{name}: a gain is a table with range, n and source; a range or a guess is [low, mid, high].")
    low, mid, high = (_number(name, {"range": edge}, "range") for edge in edges)
    if not 0 < low <= mid <= high:
        raise KdiagError(f"{name}: a gain needs 0 < low <= mid <= high, not {low:g}, {mid:g}, {high:g}.")
    n, source = int(_number(name, table, "n")), _text(name, table, "source")
    return Gain(low, mid, high, n, f"{source}, {measured}" if n and measured and measured not in source else source)


def _tables(name: str, table: Table, key: str) -> list[Table]:
    entries = table.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise KdiagError(f"{name}: {key} is an array of tables, [[{key}]].")
    return entries


def _text(name: str, table: Table, key: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise KdiagError(f"{name} needs {key}, a string that is not empty.")
    return value


def _optional(name: str, table: Table, key: str) -> str:
    return _text(name, table, key) if key in table else ""


def _number(name: str, table: Table, key: str) -> float:
    value = table.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
        raise KdiagError(f"{name} needs {key}, a number that is not negative.")
    return float(value)
