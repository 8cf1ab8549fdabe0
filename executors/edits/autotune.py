"""C: a search over tile sizes and hints, a search space that fits the card, or what a search found as constants."""

from __future__ import annotations

from typing import ClassVar

from kdiag.executors.edits.base import Edit, Example, Outcome, Skipped, Subject
from kdiag.executors.edits.examples.autotune import EXAMPLES
from kdiag.executors.edits.launches.search_fixed import BOTH, HINTS, TILES, search_instead
from kdiag.executors.edits.launches.search_freeze import freeze, frozen_settings
from kdiag.executors.edits.launches.search_legacy import modernize
from kdiag.executors.edits.launches.search_space import change_space
from kdiag.records import Safety, Variant

LEGACY, WIDEN, NARROW, FREEZE = "legacy-to-modern", "widen", "narrow", "freeze"
NAMES = (BOTH, HINTS, TILES, LEGACY, WIDEN, NARROW, FREEZE)


class Autotune(Edit):
    """Let the launch search for tile sizes and hints, or change what it searches."""

    id: ClassVar[str] = "C"
    title: ClassVar[str] = "Autotune over a wide space"
    examples: ClassVar[tuple[Example, ...]] = EXAMPLES

    def variants(self, subject: Subject) -> tuple[Variant, ...]:
        """The variants that apply; where none does, the ones for a launch that is not tuned, for their reasons."""
        offered = [
            Variant(self.id, name, frozen_settings(subject.launches) if name == FREEZE else {})
            for name in NAMES
        ]
        fitting = [v for v in offered if not isinstance(self.apply(subject, v), Skipped)]
        return tuple(fitting or offered[:3])

    def apply(self, subject: Subject, variant: Variant) -> Outcome:
        """Apply one variant; the settings of `freeze` are the configuration to keep."""
        match variant.name:
            case "hints" | "tiles" | "tiles-and-hints":
                return search_instead(subject, variant.name)
            case "legacy-to-modern":
                return modernize(subject)
            case "widen" | "narrow":
                return change_space(subject, variant.name)
            case "freeze":
                return freeze(subject, variant.settings)
        return Skipped(f"there is no variant {variant.name}")

    def safety(self, variant: Variant) -> Safety:
        """Tile sizes may change the order of sums; the source says whether they do (`Applied.safety`)."""
        return "changes-rounding" if variant.name in (TILES, BOTH) else "safe"
