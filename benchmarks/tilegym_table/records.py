"""What the stages of the table say to each other."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from kdiag.records import Compilation, Promise, Safety, Scalar
from tilegym_cases import Compared

TARGETS = ("sm_90", "sm_100")

Said = Literal["applied", "skipped", "failed", "crashed"]


@dataclass(frozen=True, order=True)
class Kernel:
    """A kernel by its file, relative to TileGym's `ops/cutile`, and its name."""

    file: str
    name: str

    def __str__(self) -> str:
        return f"{self.file.removesuffix('.py')}:{self.name}"


@dataclass(frozen=True)
class Checkout:
    """A checkout of TileGym and the folder that holds what was written or remembered for it."""

    root: Path
    work: Path

    @property
    def search(self) -> Path:
        return self.root / "src"

    @property
    def operators(self) -> Path:
        return self.search / "tilegym" / "ops" / "cutile"


@dataclass(frozen=True)
class Version:
    """A text that stands in the place of a kernel file: `path` holds exactly the text of this hash."""

    file: str
    path: Path
    hash: str


@dataclass(frozen=True)
class Offer:
    """What an edit made of one variant for one target. `text` is the edited source, or why there is none.

    `again` is what the edit says of its own result, which must be a refusal.
    """

    kernel: Kernel
    target: str
    optimization: str
    variant: str
    said: Said
    text: str
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    safety: Safety = "safe"
    promises: tuple[Promise, ...] = ()
    again: str = ""


@dataclass(frozen=True)
class Emulated:
    """One small call of an operator under the emulator.

    `launched` are the kernels it reached, `faults` (kind, array) of what they did wrong; `errors` is each tensor of the
    result beside the reference. `equal`: every bit is as it was before the edit, None where there is nothing to compare
    with. `failure` is what was raised.
    """

    case: str
    launched: tuple[Kernel, ...] = ()
    faults: frozenset[tuple[str, str]] = frozenset()
    errors: tuple[Compared, ...] = ()
    equal: bool | None = None
    failure: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Original:
    """What is known of a kernel before any edit: its compilation on each target, the full-size calls that launch it, and
    the small ones under the emulator, those that its gate may see first.
    """

    kernel: Kernel
    compiled: Mapping[str, Compilation]
    calls: tuple[int, ...]
    emulated: Mapping[int, Emulated]


@dataclass(frozen=True)
class Judged:
    """An applied offer after its gates: `stopped` names the first that failed ("" for none), `reason` is what it says.

    `wrong` is what was found on any of the small calls, of which the gate sees only the first; "" for nothing.
    """

    offer: Offer
    stopped: str
    reason: str
    wrong: str = ""
