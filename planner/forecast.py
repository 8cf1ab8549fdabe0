"""What a candidate's machine code lets expect of its time, before it has run: a roofline carried over from its parent.

The model is that of references/performance-model.md (Ranking). Instructions count by their number in the code, times
warps, over the elements of its tiles; latency by the data in flight (Little's law: blocks the card holds times elements
of a tile). Units overlap in part: as squares their times add to between the largest alone and the sum. On 120 steps
of ten kernels the logarithm was off by 0.29 (root mean square), where the steps lie 0.56 from no effect (NVIDIA H200,
2026-11): worst for tiles of a transposition, whose stores it cannot see.

Matrix products that wait for their operands have a model of their own: what is loaded is used as often more as a side of
the result's tile is longer, and what is in flight lies in the shared memory of the blocks that the card holds. On 32 steps
of the one kernel that it was made for it was off by 0.23, where they lie 0.38 from no effect.

Where no unit is busy, warps wait. How long a warp alone takes for a turn of its loops is in its machine code
(`diagnose.compiler.loop_turn`); this is believed where it explains the time of the parent. On the 25 steps of the one kernel
that it was made for it was off by 0.06, where they lie 0.56 from no effect. Of others, of which few warps fit an SM, the
blocks held at once decide: on 17 steps of four kernels off by 0.21, where they lie 0.71 from no effect.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from kdiag.records import Compilation, CompileEvidence, CompileFailure, Observations, Proposal, Variant, number

from .shrinkage import Figure

# Blocks that a card launches in a cycle at most (rules/causes/tile-too-small.toml); of others than the H200 nobody knows.
MOST_BLOCKS_PER_CYCLE = {"sm_90": 0.84}
SPREAD, NOISE = 0.5, 0.02  # how far off it is: a share of its logarithm, and at least what timing itself is off
WEIGHT = 0.5  # of a forecast that explains the parent's whole time, in measurements
WAITING_WEIGHT = 1.0  # of one for a parent that waits for its whole time
LEAST_EXPLAINED = 0.5  # of the parent's time; a chain of dependent instructions takes the rest, or what waits
MOST_HELD = 50.0  # percent of an SM's warps, as in rules/causes/occupancy-registers.toml
UNKNOWN = 2.0  # what an edit may give that changes for how long a loop waits, before it is compiled
LEAST_IN_FLIGHT = 0.5  # with less of what hid the parent's latency, latency may decide
SPECIAL = ("special_function", "conversion")  # both run on the XU pipe


@dataclass(frozen=True)
class Forecast:
    """A speed-up from compiled code alone, with the sentence that says what it rests on."""

    figure: Figure
    reason: str


@dataclass(frozen=True)
class Needs:
    """What a launch needs of each unit, against its parent's need (1.0): the ratios of the counts."""

    blocks: float
    instructions: float
    special: float
    in_flight: float
    memory: float = 1.0
    wait: float = 1.0  # of a warp alone, for the work of a block


def forecast(
    seen: Observations,
    headroom: float | None,
    proposal: Proposal,
    candidate: Compilation | None,
    parent: Compilation | None,
) -> Forecast | None:
    """The forecast for one candidate, None where its code says nothing of its time."""
    first, before = _profiled(candidate), _profiled(parent)
    tiles = proposal.variant.growth if proposal.variant.optimization == "G" else 1.0
    if first is None or before is None or tiles is None:
        return None
    products = [bool(each.instructions.get("tensor")) for each in (first, before)]
    use = _use(seen, headroom, before.target, product=any(products))
    if use is None or products[0] != products[1]:
        return None
    explained, sms = _explained(use), number(seen, "sm_count")
    if explained < LEAST_EXPLAINED:
        few = (number(seen, "max_occupancy_pct") or 100.0) <= MOST_HELD
        waits = _waits(use, seen) and not any(products)
        needs = _waiting_needs(first, before, tiles, sms, few=few, loops=loops_decide(seen)) if waits else None
        weight, because = WAITING_WEIGHT * (1 - explained), "as warps wait for most of the time"
    else:
        needs = (_product_needs if any(products) else _needs)(first, before, tiles, sms)
        needs = needs if needs is not None and needs.in_flight >= LEAST_IN_FLIGHT else None
        weight, because = WEIGHT * explained, "by what each unit is busy with"
    if needs is None:
        return None
    gain = _gain(use, needs)
    mid = math.log(gain)
    off = max(NOISE, SPREAD * abs(mid))
    return Forecast(Figure(mid - off, mid, mid + off, weight), f"{_told(first, before, needs)}: {gain:.2f}x {because}")


def at_best(seen: Observations, headroom: float | None, target: str, variant: Variant) -> float | None:
    """The speed-up before compiling: of larger tiles if all but memory were a block's fixed costs, where warps wait of
    as many blocks as are asked for.
    """
    product, growth = bool(number(seen, "source.mma")), variant.growth
    use = _use(seen, headroom, target, product=product)
    if use is None:
        return None
    if _explained(use) < LEAST_EXPLAINED:
        if not _waits(use, seen):
            return None
        asked, held = variant.settings.get("occupancy"), number(seen, "compile.blocks_per_sm")
        more = _gain(use, Needs(1, 1, 1, asked / held)) if isinstance(asked, int) and held else None
        return max(more or 0.0, UNKNOWN) if loops_decide(seen) else more
    if growth is None or growth <= 1:
        return None
    reads = 1 / math.sqrt(growth) if product else 1.0
    return _gain(use, Needs(1 / growth, 1 / growth, 1 / growth, growth / reads, reads))


def loops_decide(seen: Observations) -> bool:
    """Whether loops whose warps wait for their own loads explain the time, so that a candidate's code will tell its own."""
    return (number(seen, "loop_latency_pct") or 0.0) >= 100 * LEAST_EXPLAINED


def _gain(use: Mapping[str, float], needs: Needs) -> float:
    latency = math.sqrt(1.0 - _explained(use))
    scales = {"blocks": needs.blocks, "issue": needs.instructions, "special": needs.special, "memory": needs.memory}
    now = math.hypot(latency, *use.values())
    waited = latency * needs.wait / needs.in_flight
    return now / math.hypot(waited, *(share * scales.get(unit, 1) for unit, share in use.items()))


def _explained(use: Mapping[str, float]) -> float:
    """The part of the parent's time, squared, that the units take."""
    return min(1.0, sum(share**2 for share in use.values()))


def _waits(use: Mapping[str, float], seen: Observations) -> bool:
    """Whether no unit takes the time; caches are busy, too, where whole sectors are fetched for single elements."""
    caches = (number(seen, name) or 0.0 for name in ("l2_pct", "l1_pct"))
    return _explained({**use, "memory": max(use["memory"], *(share / 100 for share in caches))}) < LEAST_EXPLAINED


def _use(seen: Observations, headroom: float | None, target: str, *, product: bool) -> Mapping[str, float] | None:
    """The part of the parent's time that each unit needs by itself; None where it was not counted, or where a product
    does not wait for its operands first of all.
    """
    names = ("grid_size", "sm_elapsed_cycles", "issue_pct", "xu_pct", "dram_pct", "tensor_pct", "l2_pct")
    blocks, cycles, issue, special, dram, tensor, cache = (number(seen, name) for name in names)
    if issue is None or dram is None:
        return None
    if product:  # its operands come by L2, and many times from there for once from memory
        dram = max(dram, cache or 0.0)
        if tensor is None or max(tensor, issue) > dram:
            return None
    rate, most = blocks / cycles if blocks is not None and cycles else 0.0, MOST_BLOCKS_PER_CYCLE.get(target)
    least = 1 / headroom if headroom else 0.0
    return {
        "blocks": min(1.0, rate / most) if most else 0.0,
        "issue": issue / 100,
        "special": (special or 0.0) / 100,
        "tensor": (tensor or 0.0) / 100 if product else 0.0,
        "memory": min(1.0, max(least, dram / 100)),
    }


def _needs(first: CompileEvidence, before: CompileEvidence, tiles: float, sms: float | None) -> Needs | None:
    resident, resided = _resident(first, sms), _resident(before, sms)
    if not (first.threads and before.threads and resident and resided):
        return None
    count, known = first.instruction_count, before.instruction_count
    if not count or not known:
        return None
    blocks = math.prod(first.launch.grid) / math.prod(before.launch.grid)
    if tiles != 1 and not math.isclose(blocks * tiles, 1.0, rel_tol=0.1):
        return None  # the tile is of a loop, and nothing tells how often the code runs that the loop was unrolled to
    warps = first.threads / before.threads / tiles
    special, specials = (sum(each.instructions.get(group, 0) for group in SPECIAL) for each in (first, before))
    return Needs(
        blocks=blocks,
        instructions=count / known * warps,
        special=special / specials * warps if specials else 1.0,
        in_flight=resident / resided * tiles,
    )


def _waiting_needs(
    first: CompileEvidence, before: CompileEvidence, tiles: float, sms: float | None, *, few: bool, loops: bool
) -> Needs | None:
    """The needs of blocks of which more or fewer are held at once, or whose loops wait longer or less long.

    `few` warps fit an SM; the `loops` alone take most of the parent's time.
    """
    held, holds = _resident(before, sms), _resident(first, sms)
    blocks = math.prod(first.launch.grid) / math.prod(before.launch.grid)
    same = tiles == 1 and first.threads == before.threads and blocks == 1
    if not held or not holds:
        return None
    wait = _wait(first, before, tiles) if loops else 1.0 if same and few and held != holds else None
    if wait is None:
        return None
    work = wait * _work(tiles, blocks)
    return Needs(blocks=blocks, instructions=1.0, special=1.0, in_flight=holds / held / blocks, wait=work)


def _work(tiles: float, blocks: float) -> float:
    """How many times as many turns a block makes, of tiles and in a grid so many times as large: of tiles that decide the
    grid as many as before, and whole blocks of before one after the other.
    """
    if tiles == 1:
        return math.ceil(1 / blocks) if blocks < 1 else 1 / blocks
    return 1 / tiles if blocks == 1 else 1.0


def _wait(first: CompileEvidence, before: CompileEvidence, tiles: float) -> float | None:
    """How many times as long a warp of the candidate takes for a turn: of as many bytes, or of a loop that is not unrolled."""
    turn, known = first.turn, before.turn
    if turn is None or known is None:
        return None
    if tiles == 1 and first.threads == before.threads and turn.loaded and known.loaded:
        return turn.cycles / turn.loaded / (known.cycles / known.loaded)
    return turn.cycles / turn.step / (known.cycles / known.step) if turn.step and known.step else None


def _product_needs(first: CompileEvidence, before: CompileEvidence, tiles: float, sms: float | None) -> Needs | None:
    """The needs of a matrix product. Of the tile's growth that is the result's which the grid shrinks by; the rest is of
    its loop.
    """
    held, holds = (_resident(each, sms) * (each.shared_bytes or 0) for each in (before, first))
    if not held:
        return None
    blocks = math.prod(first.launch.grid) / math.prod(before.launch.grid)
    reads = math.sqrt(blocks) if tiles != 1 else 1.0
    return Needs(blocks=blocks, instructions=1.0, special=1.0, in_flight=holds / held / reads, memory=reads)


def _profiled(compilation: Compilation | None) -> CompileEvidence | None:
    """The launch of the configuration that is profiled, the kernel's first, if it is one, and no search chooses it."""
    if compilation is None or isinstance(compilation, CompileFailure):
        return None
    first = min((each.launch.configuration for each in compilation), default=0)
    launches = [each for each in compilation if each.launch.configuration == first]
    return launches[0] if len(launches) == 1 and launches[0].launch.tuning is None else None


def _resident(evidence: CompileEvidence, sms: float | None) -> float:
    """The blocks that the card holds at once: no more than there are. 0 where that is unknown."""
    return min((evidence.blocks_per_sm or 0) * (sms or 0), math.prod(evidence.launch.grid))


def _told(first: CompileEvidence, before: CompileEvidence, needs: Needs) -> str:
    said = [f"{first.instruction_count:,} machine instructions for {before.instruction_count:,}"]
    said += [f"{needs.instructions:.2f} times as many for each element"] if needs.memory == needs.wait == 1 else []
    said += [f"{needs.memory:.2g} times as much is read for the same product"] if needs.memory != 1 else []
    said += [f"{needs.blocks:.2g} times as many blocks"] if needs.blocks != 1 else []
    said += [f"{needs.in_flight:.2g} times as much in flight"] if needs.in_flight != 1 else []
    said += [f"a warp alone waits {needs.wait:.2g} times as long for its work"] if needs.wait != 1 else []
    return ", ".join(said)
