"""The card that stands behind a target while launches are captured: what torch says of it, and its streams and events.

Wrappers size grids by the number of multiprocessors and choose variants by memory and cache. The grid does not change
the machine code, so a smaller card of the same architecture has the same compiler evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from kdiag.errors import UsageError
from kdiag.rules.load_occupancy import load_occupancy

_GIB, _MIB = 2**30, 2**20


@dataclass(frozen=True)
class Card:
    """A product of one architecture: multiprocessors, memory in GiB, L2 cache in MiB (None where not published)."""

    name: str
    multiprocessors: int
    memory: int
    l2: int | None = None


# Stand-ins by which wrappers size grids and choose variants; no limit and no percentage rests on them (those are in
# rules/devices). torch reports the same 132 multiprocessors on an H200.
CARDS = {
    "sm_80": Card("NVIDIA A100-SXM4-80GB", 108, 80, 40),
    "sm_86": Card("NVIDIA GeForce RTX 3090", 82, 24, 6),
    "sm_87": Card("Jetson AGX Orin", 16, 64),
    "sm_89": Card("NVIDIA GeForce RTX 4090", 128, 24, 72),
    "sm_90": Card("NVIDIA H200", 132, 141, 50),
    "sm_100": Card("NVIDIA B200", 148, 180, 126),
    "sm_103": Card("NVIDIA B300", 148, 288),
    "sm_110": Card("Jetson AGX Thor", 20, 128),
    "sm_120": Card("NVIDIA GeForce RTX 5090", 170, 32, 96),
    "sm_121": Card("NVIDIA GB10", 48, 128),
}


def card_of(target: str) -> Card:
    """The card for a target such as "sm_90". Raises UsageError for an architecture of which no card is known."""
    if target not in CARDS:
        raise UsageError(f"There is no card known for the target {target}; choose one of {', '.join(CARDS)}.")
    return CARDS[target]


def properties_of(target: str) -> SimpleNamespace:
    """What `torch.cuda.get_device_properties` says of the card; what is not known has no attribute."""
    card, (major, minor) = card_of(target), capability_of(target)
    limits = load_occupancy()[f"{major}.{minor}"]
    known: dict[str, Any] = {
        "name": card.name,
        "major": major,
        "minor": minor,
        "multi_processor_count": card.multiprocessors,
        "total_memory": card.memory * _GIB,
        "warp_size": limits.warp_threads,
        "max_threads_per_block": 1024,
        "max_threads_per_multi_processor": limits.warps * limits.warp_threads,
        "regs_per_multiprocessor": limits.registers,
        "shared_memory_per_block": 48 * 1024,
        "shared_memory_per_block_optin": limits.shared_bytes_per_block,
        "shared_memory_per_multiprocessor": limits.shared_bytes,
        "is_integrated": int(card.name.startswith("Jetson")),
        "is_multi_gpu_board": 0,
    }
    if card.l2 is not None:
        known["L2_cache_size"] = card.l2 * _MIB
    return SimpleNamespace(**known)


def capability_of(target: str) -> tuple[int, int]:
    """The compute capability of a target: (9, 0) of "sm_90"."""
    return divmod(int(target.removeprefix("sm_")), 10)


class Waiting:
    """A stream, event or graph of a card that has nothing to do: it waits for nothing and takes no time."""

    cuda_stream = 0
    cuda_event = 0

    def __init__(self, *_arguments: object, **_options: object) -> None:
        self.device_index = 0

    def __enter__(self) -> Waiting:
        return self

    def __exit__(self, *_error: object) -> None:
        return None

    def nothing(self, *_arguments: object, **_options: object) -> None:
        """Any call that waits, records or replays."""

    synchronize = record = wait = wait_event = wait_stream = replay = reset = nothing
    capture_begin = capture_end = nothing

    def query(self) -> bool:
        """All work is done."""
        return True

    def record_event(self, event: Waiting | None = None) -> Waiting:
        """An event that has happened."""
        return event or Waiting()

    def elapsed_time(self, _end: Waiting) -> float:
        """Milliseconds between two events. Not 0, which callers divide by."""
        return 1.0
