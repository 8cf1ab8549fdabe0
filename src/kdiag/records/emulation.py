"""What emulating a kernel on the CPU found."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .run import ConfigurationCheck

FaultKind = Literal[
    "out-of-bounds",  # an access past what the array holds, or past what cuTile defines
    "uninitialized",  # an element that nothing ever wrote reached an output, an address, a branch or a mask
    "undetermined-padding",  # padding of PaddingMode.UNDETERMINED (or no padding value) reached one of these
    "undefined-value",  # a variable no path set, or an integer division by zero, reached one of these
    "race",  # two blocks wrote one element without synchronization
    "redundant-write",  # a warning: two blocks wrote one element, and the same value
    "read-write-race",  # a block read what another wrote, or wrote what another read, without synchronization
    "unwritten",  # elements of an output that no launch wrote
    "index-overflow",  # 32-bit arithmetic of an index wrapped around
    "assumption",  # what the kernel told the compiler to believe is not so
    "assertion",  # ct.assert_ failed
    "type-rule",  # a rule of cuTile on ranks, shapes or types that the tile compiler enforces
]

WARNINGS: frozenset[FaultKind] = frozenset({"redundant-write"})  # change no result by themselves


ADVICE: dict[FaultKind, str] = {
    "out-of-bounds": "ct.load and ct.store index tiles, not elements; keep check_bounds on, or mask what is outside",
    "uninitialized": "write it first: make it with torch.zeros, or do not read what no block has written",
    "undetermined-padding": "say padding_mode=ct.PaddingMode.ZERO (or what the operation needs), or choose with ct.where; "
    "multiplying by zero does not help",
    "undefined-value": "set the variable on every path; guard the divisor",
    "race": "give each block elements of its own, or combine with ct.atomic_add and its like",
    "redundant-write": "let one block write it",
    "read-write-race": "split the kernel in two launches, use an atomic operation, or order the blocks by release and acquire",
    "unwritten": "cover the whole array: round the grid up with ct.cdiv, and check where loops over tiles end",
    "index-overflow": "annotate the parameter ct.IndexedWithInt64, or compute the index in int64",
    "assumption": "make the promise true, or do not make it",
    "assertion": "the kernel's own check",
    "type-rule": "the kernel does not compile",
}


@dataclass(frozen=True)
class Fault:
    """One fault at one place of a kernel.

    `line` and `column` (from 1) are of the operation in `file`; `block` is (x, y, z); `element` indexes `array`, the
    name of the kernel's parameter; `count` is how many elements were affected.
    """

    kind: FaultKind
    kernel: str
    file: str
    line: int
    column: int
    text: str
    block: tuple[int, int, int] | None = None
    array: str | None = None
    element: tuple[int, ...] | None = None
    count: int = 1

    @property
    def warning(self) -> bool:
        """Whether it changes no result by itself."""
        return self.kind in WARNINGS

    @property
    def advice(self) -> str:
        return ADVICE[self.kind]

    @property
    def where(self) -> str:
        """Block, array and element in words, "" where none is known."""
        parts = [] if self.block is None else [f"block {self.block}"]
        if self.array is not None:
            at = "" if self.element is None else f"[{', '.join(map(str, self.element))}]"
            parts.append(f"array {self.array}{at}")
        return ", ".join(parts)

    @property
    def extent(self) -> str:
        """How many elements were affected, "" where that says nothing more."""
        return f"{self.count} elements in all" if self.count > 1 and self.kind != "unwritten" else ""

    def __str__(self) -> str:
        where = f" ({self.where})" if self.where else ""
        count = f", {self.extent}" if self.extent else ""
        return f"{self.file}:{self.line}:{self.column}: {self.kernel}: {self.kind}: {self.text}{where}{count}"


@dataclass(frozen=True)
class EmulatedConfiguration:
    """One configuration of a workload, run on the CPU: is it right, and what did its launches do wrong?

    `launches` counts cuTile launches; `seconds` is the wall time of `run`, emulation included.
    """

    check: ConfigurationCheck
    launches: int
    seconds: float
    faults: tuple[Fault, ...]

    @property
    def passed(self) -> bool:
        """The result is right, and nothing but warnings was found."""
        return self.check.passed and all(fault.warning for fault in self.faults)


@dataclass(frozen=True)
class EmulationCase:
    """One run of a kernel file on the CPU: which configuration of the workload, with what inputs, in what order.

    `edge` says whether `index` counts `edge_configs()` or `configs()`; `shuffle` is the seed of a random order of
    blocks, `perturbation` names what is done to the inputs that `seed` makes ("" for nothing).
    """

    configuration: str
    edge: bool
    index: int
    seed: int = 1
    shuffle: int | None = None
    perturbation: str = ""

    def __str__(self) -> str:
        parts = [self.configuration, f"seed={self.seed}" if self.seed != 1 else ""]
        parts += ["shuffled blocks" if self.shuffle is not None else "", self.perturbation]
        return ", ".join(filter(None, parts))


@dataclass(frozen=True)
class EmulatedCase:
    """What one run gave. `outputs` are SHA-256 of the bits of each output, with every NaN alike; `changed` names the
    inputs that are not what they were. `failure` is a run that gave nothing: an exception, a crash, a rule of cuTile.
    """

    check: ConfigurationCheck
    outputs: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    seconds: float = 0.0
    failure: str = ""


@dataclass(frozen=True)
class EmulatedSource:
    """All runs of one kernel file. `missing` says of each run that could not be had why: it took too long, or uses what
    the emulator does not know. `late_s` is the time after which what had no result was given up.
    """

    ran: Mapping[EmulationCase, EmulatedCase]
    missing: Mapping[EmulationCase, str] = field(default_factory=dict)
    late_s: float | None = None
