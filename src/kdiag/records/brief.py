"""Everything known about a kernel, for a person or an agent who goes on where rules end."""

from dataclasses import dataclass

from .compilation import Compilation
from .diagnosis import Diagnosis
from .observations import Evidence, Place
from .plan import Suggestion
from .run import Iteration


@dataclass(frozen=True)
class Idea:
    """What no rule can do and what usually helps against a cause. `skeleton` is code to begin with, or empty."""

    title: str
    causes: tuple[str, ...]
    why: str
    how: str
    skeleton: str = ""


@dataclass(frozen=True)
class Brief:
    """The brief of one kernel. `source` is the text of its function, which begins at `where`.

    `headroom` is how many times faster the roofline of the launch's own counters allows; `order` what the order of
    memory operations costs; `tried` the iterations of a run; `verify` the commands that say whether a change is right
    and faster.
    """

    kernel: str
    target: str
    where: Place
    source: str
    compilation: Compilation
    diagnosis: Diagnosis
    headroom: float | None
    order: Evidence
    suggestions: tuple[Suggestion, ...]
    tried: tuple[Iteration, ...]
    ideas: tuple[Idea, ...]
    constraints: tuple[str, ...]
    verify: tuple[str, ...]
    notes: tuple[str, ...] = ()
