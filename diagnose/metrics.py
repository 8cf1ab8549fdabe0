"""Metrics computed from others: shares, ratios and totals that no counter holds by itself.

A derived metric is unavailable as soon as one of its inputs is; division by zero makes it unavailable too.
"""

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass

from kdiag.records import Evidence, Observations, number

from .report.plausible import plausible


@dataclass(frozen=True)
class Derived:
    """`formula` takes the values of `inputs`, in that order, and gives a value in `unit`.

    With `any_input` one known input is enough, and the formula takes those that are known.
    """

    name: str
    unit: str
    inputs: tuple[str, ...]
    formula: Callable[..., float]
    meaning: str
    any_input: bool = False


WARP = 32  # threads
MOST_EXPLAINED = 200.0  # percent of the time
DRAM_IDLE_PCT = 0.1  # so that what never leaves L2 has a ratio too, and a large one


def _fp32_operations(ffma: float, fadd: float, fmul: float, cycles: float) -> float:
    return (2 * ffma + fadd + fmul) * cycles


def _tail_loss(waves: float) -> float:
    """A grid of 1.1 waves takes the time of two, so 45 % of the block slots stay empty; below one wave it is 0."""
    return 100 * (1 - waves / math.ceil(waves)) if waves > 1 else 0.0


def _wasted_sectors(loads: float, load_bytes: float, stores: float, store_bytes: float, l1_l2: float) -> float:
    """Of all sectors that L1 asked L2 for, what no lane uses.

    More than 32 bytes are used of a sector in which lanes meet. What TMA moves is used. Sectors that L1 held already
    are not among those it asked for, and make up for the rest of their line.
    """
    useful = sum(count * min(used, 32.0) / 32 for count, used in ((loads, load_bytes), (stores, store_bytes)))
    others = max(0.0, l1_l2 - loads - stores)
    return 100 * max(0.0, 1 - (useful + others) / l1_l2)


def _pct_of_copy(moved: float, excess: float, time: float, copy: float) -> float:
    """By the bytes that it needs. Unknown for one that moves less than half of its arrays: a part, or another's arrays."""
    return 100 * moved / max(excess, 1.0) / (time * copy * 1e3) if excess >= 0.5 else math.nan


def _held_warps(blocks: float, sms: float, grid: float, threads: float) -> float:
    return min(blocks * sms, grid) * threads / WARP


def _loop_latency(loads: float, cycles: float, held: float, elapsed: float) -> float:
    """Warps in one place come one after another. Unknown where it is far too much: the model does not fit."""
    explained = 100 * loads / held * cycles / elapsed
    return explained if explained <= MOST_EXPLAINED else math.nan


def _bank_conflicts(loads: float, stores: float, load_passes: float, store_passes: float) -> float:
    return 100 * (loads + stores) / max(1.0, load_passes + store_passes)


def _multiply_add_share(ffma: float, fadd: float, fmul: float) -> float:
    """A matrix product adds every product it makes: as ffma, or as one fmul and one fadd."""
    return 100 * (ffma + 2 * min(fadd, fmul)) / (ffma + fadd + fmul)


# In an order in which inputs come first; a name that comes twice is computed the first way that has its inputs.
# The profiler's own limit by shared memory is no use here: the driver sets aside just enough for the blocks that
# registers allow, so both limits read 1 in a kernel that only registers hold back.
DERIVED = (
    # What sampling cannot count is taken from what it can: a unit as busy as its busiest part that was counted, and
    # occupancy from the compiled code. A report has its own figures for all of these.
    Derived("compute_pct", "%", ("issue_pct", "tensor_pct", "xu_pct", "fp64_pct", "alu_pct", "fma_pct"), max,
            "busiest of instruction issue and the pipes that were counted"),
    Derived("memory_pct", "%", ("dram_pct", "l2_pct", "l1_data_pct"), max, "busiest of DRAM, L2 and the data pipe of L1"),
    Derived("max_occupancy_pct", "%", ("compile.occupancy_pct",), float, "occupancy that the compiled code allows"),
    Derived("waves", "waves", ("grid_size", "compile.blocks_per_sm", "sm_count"),
            lambda blocks, fit, count: blocks / (fit * count), "times the grid fills all SMs at the occupancy of the compiled code"),
    Derived("local_instructions", "inst", ("local_loads", "local_stores"), lambda loads, stores: loads + stores,
            "loads and stores of local memory"),
    Derived("spill_share_pct", "%", ("spill_instructions", "instructions"), lambda part, whole: 100 * part / whole,
            "instructions that spill or reload registers"),
    Derived("local_share_pct", "%", ("local_instructions", "instructions"), lambda part, whole: 100 * part / whole,
            "instructions that access local memory"),
    Derived("xu_over_issue", "", ("xu_pct", "issue_pct"), lambda xu, issue: xu / issue,
            "special function pipe against instruction issue; at 1 both would be full together"),
    Derived("l2_over_dram", "", ("l2_pct", "dram_pct"), lambda l2, dram: l2 / max(dram, DRAM_IDLE_PCT),
            "L2 against DRAM, both in percent of their peaks"),
    Derived("memory_over_dram", "", ("memory_pct", "dram_pct"), lambda memory, dram: memory / max(dram, DRAM_IDLE_PCT),
            "busiest memory unit against DRAM, both in percent of their peaks"),
    Derived("l1_over_l2", "", ("l1_pct", "l2_pct"), lambda l1, l2: l1 / l2,
            "L1 against L2, both in percent of their peaks"),
    Derived("long_scoreboard_pct", "%", ("long_scoreboard", "warp_latency"), lambda part, whole: 100 * part / whole,
            "time a warp waits for global or local memory"),
    Derived("tail_loss_pct", "%", ("waves",), _tail_loss, "block slots that stay empty because the last wave is not full"),
    Derived("sm_active_pct", "%", ("sm_active_cycles", "sm_elapsed_cycles"), lambda part, whole: 100 * part / whole,
            "cycles an SM had work, on average"),
    Derived("limit_shared_memory_at_most", "blocks", ("shared_bytes_per_sm", "shared_bytes_per_block"), operator.floordiv,
            "blocks an SM could hold by shared memory if it set aside as much as it can"),
    Derived("limit_shared_memory_at_most", "blocks", ("limit_shared_memory",), float,
            "blocks an SM can hold by the shared memory it set aside"),
    Derived("limit_others", "blocks", ("limit_shared_memory_at_most", "limit_blocks", "limit_warps"), min,
            "blocks an SM could hold if registers were free"),
    Derived("register_limit_ratio", "", ("limit_registers", "limit_others"), lambda registers, others: registers / others,
            "blocks an SM can hold by registers against what everything else allows"),
    Derived("shared_limit_ratio", "", ("limit_shared_memory_at_most", "limit_registers", "limit_blocks", "limit_warps"),
            lambda shared, *others: shared / min(others), "blocks an SM can hold by shared memory against what everything else allows"),
    Derived("blocks_limit_ratio", "", ("limit_blocks", "limit_registers", "limit_shared_memory_at_most", "limit_warps"),
            lambda blocks, *others: blocks / min(others), "blocks an SM can hold at all against what everything else allows"),
    Derived("register_limit_ratio", "", ("compile.register_occupancy_pct", "compile.shared_memory_occupancy_pct"), operator.truediv,
            "occupancy that registers allow against what shared memory allows"),
    Derived("shared_limit_ratio", "", ("compile.shared_memory_occupancy_pct", "compile.register_occupancy_pct"), operator.truediv,
            "occupancy that shared memory allows against what registers allow"),
    Derived("plain_pipe_pct", "%", ("alu_pct", "fma_pct"), lambda *busy: max(busy), "busier of the integer and the fp32 pipe", any_input=True),
    Derived("barrier_pct", "%", ("barrier", "warp_latency"), lambda part, whole: 100 * part / whole,
            "time a warp waits for other warps of its block"),
    Derived("bank_conflict_pct", "%", ("bank_conflicts_load", "bank_conflicts_store", "shared_load_wavefronts", "shared_store_wavefronts"),
            _bank_conflicts, "passes through shared memory that bank conflicts add"),
    Derived("shared_over_l1", "", ("shared_pct", "l1_data_pct"), lambda shared, data: shared / data,
            "part of shared memory in what the data pipe of L1 served"),
    Derived("sm_balance_pct", "%", ("sm_active_cycles", "sm_active_cycles_max"), lambda mean, most: 100 * mean / most,
            "cycles an average SM had work, against the busiest one"),
    Derived("wasted_sector_pct", "%", ("global_load_sectors", "load_bytes_per_sector", "global_store_sectors", "store_bytes_per_sector", "l1_l2_sectors"),
            _wasted_sectors, "bytes of the sectors moved that no lane uses"),
    Derived("global_over_tma", "", ("global_loads", "tma_loads"), lambda ordinary, tma: ordinary / tma,
            "ordinary load instructions for each TMA load"),
    Derived("tensor_ops", "FLOP", tuple(f"tensor_ops_{dtype}" for dtype in ("bf16", "fp16", "tf32", "fp8", "int8", "fp64")),
            lambda *counts: sum(counts), "operations of the tensor cores", any_input=True),
    Derived("atomic_share_pct", "%", ("atomic_sectors", "reduction_sectors", "l1_l2_sectors"),
            lambda atomics, reductions, sectors: 100 * (atomics + reductions) / sectors, "sectors that atomic operations touch"),
    Derived("excess_operations", "", ("tensor_ops", "work.flops"), lambda done, needed: done / needed,
            "operations of the tensor cores against what the workload needs"),
    Derived("dram_bytes", "byte", ("dram_read_bytes", "dram_write_bytes"), lambda read, write: read + write,
            "bytes moved between L2 and DRAM"),
    Derived("excess_traffic", "", ("dram_bytes", "work.bytes"), lambda moved, needed: moved / needed,
            "DRAM traffic against what the workload needs"),
    Derived("excess_traffic", "", ("dram_bytes", "work.array_bytes"), lambda moved, needed: moved / needed,
            "DRAM traffic against the arrays of the launch, each read or written once"),
    Derived("needed_dram_pct", "%", ("dram_pct", "excess_traffic"), lambda busy, excess: busy / excess,
            "DRAM, by the bytes alone that the workload needs"),
    Derived("pct_of_copy", "%", ("dram_bytes", "excess_traffic", "duration_us", "timing.copy_gbs"), _pct_of_copy,
            "DRAM traffic that is needed against what a copy moves on this card in the time"),
    Derived("held_warps", "warps", ("compile.blocks_per_sm", "sm_count", "grid_size", "compile.threads"), _held_warps,
            "warps that the card holds at once"),
    Derived("loop_latency_pct", "%", ("global_loads", "compile.cycles_per_load", "held_warps", "sm_elapsed_cycles"), _loop_latency,
            "of the cycles, what loops take if each warp waits for its own loads alone"),
    Derived("dram_bytes_per_block", "byte", ("dram_bytes", "grid_size"), lambda moved, blocks: moved / blocks,
            "DRAM traffic of one block"),
    Derived("blocks_per_cycle", "blocks", ("grid_size", "sm_elapsed_cycles"), operator.truediv,
            "blocks launched in each cycle on the whole card"),
    Derived("dram_peak", "byte/s", ("dram_peak_bytes_per_cycle", "dram_clock_hz"), lambda width, clock: width * clock,
            "DRAM bandwidth at the clock of the launch"),
    Derived("l2_peak", "byte/s", ("l2_peak_bytes_per_cycle", "l2_clock_hz"), lambda width, clock: width * clock,
            "bandwidth from L2 to the SMs at the clock of the launch"),
Derived("l2_bytes", "byte", ("l2_to_sm_rate", "duration_us"), lambda rate, time: rate * time * 1e-6,
            "bytes that L2 handed to the SMs"),
    Derived("l1_bytes", "byte", ("l1_rate", "duration_us"), lambda rate, time: rate * time * 1e-6,
            "bytes that L1 and shared memory handed to registers"),
    Derived("l1_peak", "byte/s", ("l1_peak_bytes_per_cycle", "l1_clock_hz"), lambda width, clock: width * clock,
            "bandwidth from L1 and shared memory to registers at the clock of the launch"),
    Derived("fp32_peak", "FLOP/s", ("fp32_peak_fma_per_cycle", "sm_clock_hz"), lambda width, clock: 2 * width * clock,
            "fp32 peak at the clock of the launch"),
    Derived("fp64_peak", "FLOP/s", ("fp64_peak_fma_per_cycle", "sm_clock_hz"), lambda width, clock: 2 * width * clock,
            "fp64 peak at the clock of the launch"),
    Derived("fp32_ops", "FLOP", ("ffma_per_cycle", "fadd_per_cycle", "fmul_per_cycle", "sm_elapsed_cycles"), _fp32_operations,
            "fp32 additions, multiplications and twice the fused multiply-adds"),
    Derived("fp64_ops", "FLOP", ("dfma_per_cycle", "dadd_per_cycle", "dmul_per_cycle", "sm_elapsed_cycles"), _fp32_operations,
            "fp64 additions, multiplications and twice the fused multiply-adds"),
    Derived("multiply_add_pct", "%", ("ffma_per_cycle", "fadd_per_cycle", "fmul_per_cycle"), _multiply_add_share,
            "fp32 arithmetic in which a product is added up, as in a matrix product"),
    # Spills and operands that are read twice lower the intensity that is counted, not the one that is possible.
    Derived("fp32_over_ridge", "", ("fp32_ops", "work.bytes", "fp32_peak", "dram_peak"),
            lambda ops, needed, peak, bandwidth: (ops / needed) / (peak / bandwidth),
            "fp32 operations per byte that the workload needs against the ridge point of the fp32 units"),
    Derived("fp32_over_ridge", "", ("fp32_ops", "dram_bytes", "fp32_peak", "dram_peak"),
            lambda ops, moved, peak, bandwidth: (ops / moved) / (peak / bandwidth),
            "fp32 operations per DRAM byte against the ridge point of the fp32 units"),
)  # fmt: skip


def with_derived(observations: Observations) -> dict[str, Evidence]:
    """Return `observations` plus every derived metric whose inputs are available and that is not given already.

    What comes out as no possible value is left out, as it would be if a report said so.
    """
    complete = dict(observations)
    for derived in DERIVED:
        inputs = [number(complete, name) for name in derived.inputs]
        known = [value for value in inputs if value is not None]
        if derived.name in complete or not known or (len(known) < len(inputs) and not derived.any_input):
            continue
        try:
            value = derived.formula(*known)
        except ZeroDivisionError:
            continue
        if not plausible(value, derived.unit):
            continue
        complete[derived.name] = Evidence("metric", derived.name, value, derived.unit, text=derived.meaning)
    return complete


def inputs_missing(name: str, known: Observations) -> tuple[str, ...]:
    """Return what would have to be observed for `name`: the missing inputs of a derived metric, else itself.

    Of several ways to compute it the one that lacks least counts. A name whose inputs are all there (a division by
    zero) is itself what is missing.
    """
    ways = [each for each in DERIVED if each.name == name]
    if not ways:
        return (name,)
    lacking = [[each for each in way.inputs if number(known, each) is None] for way in ways]
    found = tuple(part for each in min(lacking, key=len) for part in inputs_missing(each, known))
    return found or (name,)
