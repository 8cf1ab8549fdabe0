"""How many blocks of a kernel an SM holds, by calculation from what a block needs.

Follows NVIDIA's occupancy calculator (cuda_occupancy.h) and agrees with the limits that Nsight Compute reports:
registers are given to a warp in units and lie in one partition of the SM; shared memory is given to a block in units,
with a part reserved for the driver. Clusters and tensor memory are not part of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kdiag.rules.load_occupancy import SmLimits, load_occupancy


@dataclass(frozen=True)
class BlockNeeds:
    """What one block takes: threads, registers a thread, bytes of shared memory (static and dynamic), barriers."""

    threads: int
    registers: int
    shared_bytes: int = 0
    barriers: int = 0


@dataclass(frozen=True)
class Occupancy:
    """Blocks an SM holds at once, the warps of these in percent of all it could hold, and what limits them.

    `limited_by` is "warps", "blocks", "registers", "shared-memory" or "barriers"; `limits` has the blocks that each
    of them allows, without those that the kernel does not use.
    """

    blocks_per_sm: int
    occupancy_pct: float
    limited_by: str
    limits: Mapping[str, int]


def occupancy(target: str, needs: BlockNeeds, shared_bytes_per_sm: int | None = None) -> Occupancy | None:
    """The occupancy on a card of `target` ("sm_90" or "9.0"); None for an architecture that is not in the table.

    The driver sets part of an SM's memory aside for shared memory; `shared_bytes_per_sm` says how much, where that is
    known, else it is taken to be as much as there can be.
    """
    sm = load_occupancy().get(_capability(target))
    if sm is None or needs.threads <= 0:
        return None
    warps = -(-needs.threads // sm.warp_threads)
    shared = _rounded(needs.shared_bytes + sm.reserved_shared_bytes, sm.shared_unit)
    # The fixed limits come first: on a tie less of the others would not help.
    limits = {"warps": sm.warps // warps, "blocks": sm.blocks}
    if needs.registers:
        limits["registers"] = _by_registers(sm, needs.registers, warps)
    if shared:
        fits = needs.shared_bytes <= sm.shared_bytes_per_block
        limits["shared-memory"] = (shared_bytes_per_sm or sm.shared_bytes) // shared if fits else 0
    if needs.barriers:
        limits["barriers"] = sm.barriers // needs.barriers
    limited_by = min(limits, key=lambda name: limits[name])
    blocks = limits[limited_by]
    return Occupancy(blocks, 100 * blocks * warps / sm.warps, limited_by, limits)


def _by_registers(sm: SmLimits, registers: int, warps: int) -> int:
    if registers > sm.registers_per_thread:
        return 0
    of_warp = _rounded(registers * sm.warp_threads, sm.register_unit)
    warps_per_partition = sm.registers // sm.partitions // of_warp
    return warps_per_partition * sm.partitions // warps


def _rounded(amount: int, unit: int) -> int:
    return -(-amount // unit) * unit


def _capability(target: str) -> str:
    digits = target.removeprefix("sm_").rstrip("af")
    return digits if "." in digits else f"{digits[:-1]}.{digits[-1:]}"
