"""L: what rules cannot do is written down for a person, by a command and not by an edit of the source."""

from kdiag.records import Variant

from .base import Edit, Outcome, Skipped, Subject
from .examples.written_plan import EXAMPLES
from .syntax.kernel_source import read_kernel

COMMAND = "kdiag plan KERNEL.py --brief PLAN.md"


class WrittenPlan(Edit):
    """Points to the command that writes the plan."""

    id = "L"
    title = "A written plan for what rules cannot do"
    examples = EXAMPLES

    def variants(self, subject: Subject) -> tuple[Variant, ...]:
        """None: there is nothing to choose."""
        return ()

    def apply(self, subject: Subject, variant: Variant) -> Outcome:
        """Say which command writes it."""
        read = read_kernel(subject.source, subject.kernel)
        if isinstance(read, Skipped):
            return read
        return Skipped(f"it is text for a person, not an edit; {COMMAND} writes it")
