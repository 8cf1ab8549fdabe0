"""C: a search over tile sizes and hints, a search space that fits the card, or what a search found as constants."""

from kdiag.records import Safety, Variant

from .base import Edit, Outcome, Skipped, Subject
from .examples.autotune import EXAMPLES
from .launches.search import is_tuned, legacy_searches
from .launches.search_fixed import BOTH, HINTS, TILES, search_instead
from .launches.search_freeze import freeze, frozen_settings
from .launches.search_legacy import modernize
from .launches.search_space import change_space
from .syntax.kernel_source import read_kernel

LEGACY, WIDEN, NARROW, FREEZE = "legacy-to-modern", "widen", "narrow", "freeze"


class Autotune(Edit):
    """Let the launch search for tile sizes and hints, or change what it searches."""

    id = "C"
    title = "Autotune over a wide space"
    examples = EXAMPLES

    def variants(self, subject: Subject) -> tuple[Variant, ...]:
        """A search for a fixed launch; another space, or what was found, for one that is searched."""
        read = read_kernel(subject.source, subject.kernel)
        if isinstance(read, Skipped):
            return ()
        if legacy_searches(read):
            return (Variant(self.id, LEGACY),)
        if not is_tuned(read):
            return tuple(Variant(self.id, name) for name in (BOTH, HINTS, TILES))
        frozen = Variant(self.id, FREEZE, frozen_settings(subject.launches))
        return (Variant(self.id, WIDEN), frozen, Variant(self.id, NARROW))

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
