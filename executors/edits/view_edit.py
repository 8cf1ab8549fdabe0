"""An edit of a kernel seen through its assignments; what most edits are."""

from abc import abstractmethod
from collections.abc import Collection
from typing import ClassVar

from kdiag.records import Variant

from .base import Edit, Outcome, Skipped, Subject
from .syntax.kernel_view import KernelView, view_kernel


class ViewEdit(Edit):
    """Reads the kernel once; `names` are its variants where they are the same for every kernel, the best first."""

    names: ClassVar[Collection[str]] = ()

    def variants(self, subject: Subject) -> tuple[Variant, ...]:
        """Those of `names`; overridden where they depend on the kernel."""
        return tuple(Variant(self.id, name) for name in self.names)

    def apply(self, subject: Subject, variant: Variant) -> Outcome:
        """Change the kernel; skip where it cannot be read, or the variant is none of `names`."""
        view = view_kernel(subject.source, subject.kernel)
        if isinstance(view, Skipped):
            return view
        if self.names and variant.name not in self.names:
            return no_variant(variant)
        return self.change(view, subject, variant)

    @abstractmethod
    def change(self, view: KernelView, subject: Subject, variant: Variant) -> Outcome:
        """`apply` for a kernel that was read."""


def no_variant(variant: Variant) -> Skipped:
    """The edit does not know this variant."""
    return Skipped(f"{variant.name or 'it'} is no variant of this edit")
