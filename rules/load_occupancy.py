"""Reads `occupancy.toml`: what an SM of each compute capability holds at most."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class SmLimits:
    """The resources of one SM and the units in which blocks get them.

    `register_unit` counts registers of a warp; `reserved_shared_bytes` is what the driver takes from each block.
    """

    warp_threads: int
    warps: int
    blocks: int
    barriers: int
    registers: int
    registers_per_thread: int
    register_unit: int
    partitions: int
    shared_bytes: int
    reserved_shared_bytes: int
    shared_unit: int

    @property
    def shared_bytes_per_block(self) -> int:
        """What one block can have."""
        return self.shared_bytes - self.reserved_shared_bytes


@cache
def load_occupancy() -> Mapping[str, SmLimits]:
    """Return the limits by compute capability ("9.0"). Raises TypeError for a malformed file."""
    table = tomllib.loads(files("kdiag.rules").joinpath("occupancy.toml").read_text(encoding="utf-8"))
    return {name: SmLimits(**{**table["common"], **entry}) for name, entry in table["capability"].items()}
