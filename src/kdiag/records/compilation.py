"""What the tile compiler says of a captured launch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .observations import Place, Scalar


@dataclass(frozen=True)
class Remark:
    """One remark of tileiras. `instruction` is e.g. "TMA Load instruction", `text` its full sentence."""

    name: str
    passed: bool
    where: Place
    function: str
    instruction: str = ""
    shape: str = ""
    text: str = ""


@dataclass(frozen=True)
class ArrayArgument:
    """An array as a launch passes it: strides in elements, `alignment` of its address in bytes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    alignment: int = 16


@dataclass(frozen=True)
class ScalarArgument:
    """A run-time scalar (`constant` False) or a compile-time `ct.Constant`."""

    name: str
    value: int | float | bool
    constant: bool


Argument = ArrayArgument | ScalarArgument


@dataclass(frozen=True)
class TuningSpace:
    """What a launch wrapper tunes a kernel over: one entry of each tuple for each configuration.

    A value that is no scalar is its text. `hints` are those the wrapper tunes with. `chosen` is the index of the
    configuration that the captured launch uses; without a GPU nothing can be timed and it is the first.
    """

    kernel: str
    configurations: tuple[Mapping[str, Scalar], ...]
    grids: tuple[tuple[int, ...], ...]
    hints: tuple[Mapping[str, Scalar], ...]
    chosen: int = 0


@dataclass(frozen=True)
class Launch:
    """One captured `ct.launch`; `configuration` is the index in the workload's `configs()`.

    `hints` are the compiler hints of the launched kernel for the target, defaults left out. `tuning` is the search
    that the wrapper took the launch's configuration from. `overlaps` are pairs of arrays that share memory, by their
    positions among the arrays.
    """

    kernel: str
    grid: tuple[int, ...]
    arguments: tuple[Argument, ...]
    configuration: int = 0
    hints: Mapping[str, Scalar] = field(default_factory=dict)
    tuning: TuningSpace | None = None
    overlaps: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class LoopTurn:
    """A turn of the innermost loops that load from memory: the `cycles` that a warp takes for it alone, its `loads`, and
    the bytes that a thread has `loaded` by them. `step` is by how much the loop's counter moves, None where the code does not say.
    """

    cycles: float
    loads: int
    loaded: int
    step: int | None = None


@dataclass(frozen=True)
class CompileEvidence:
    """What ahead-of-time compilation of one launch says. `code_hash` covers the machine code alone.

    `threads` is the size of a block as compiled, `occupancy_pct` and `blocks_per_sm` follow from it with registers
    and shared memory, `limited_by` names the resource ("registers", "shared-memory", "blocks", "warps").
    `instructions` counts the machine instructions by group (see `diagnose.compiler.instruction_mix`), not how often they run.
    `turn` is None where no loop loads, or by TMA (see `diagnose.compiler.loop_turn`).
    """

    kernel: str
    target: str
    launch: Launch
    registers: int | None
    stack_bytes: int | None
    shared_bytes: int | None
    code_bytes: int
    code_hash: str
    remarks: tuple[Remark, ...]
    seconds: float
    threads: int | None = None
    occupancy_pct: float | None = None
    blocks_per_sm: int | None = None
    limited_by: str | None = None
    instructions: Mapping[str, int] = field(default_factory=dict)
    turn: LoopTurn | None = None

    @property
    def instruction_count(self) -> int:
        """All machine instructions; 0 where none were counted."""
        return sum(self.instructions.values())


@dataclass(frozen=True)
class CompileFailure:
    """A kernel that did not compile. `kind`: error, crash (signal), timeout, unavailable (no toolchain), or
    not-launched by the workload.
    """

    kind: Literal["error", "crash", "timeout", "unavailable", "not-launched"]
    message: str
    kernel: str = ""


Compilation = tuple[CompileEvidence, ...] | CompileFailure
