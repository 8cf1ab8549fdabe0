"""padding: zero padding with the wanted value put in by `ct.where`, since TMA pads with zeros and nothing else.

The mask compares the element numbers of the tile with the array's extent, in int32 as cuTile counts. With undetermined
padding and with zeros the compiler makes the same machine code, so that is left alone (sm_90 and sm_100, tileiras 13.4).
"""

import libcst as cst

from kdiag.records import Launch, Promise, Variant

from .accesses.conversion import Conversion, Refusal, convert
from .accesses.launch_bounds import array_of
from .accesses.padded_load import padded_load
from .accesses.tma_use import COMBINES_ELEMENTS, has_tma, reachable
from .base import Outcome, Skipped, Subject
from .examples.tma_padding import EXAMPLES
from .syntax.kernel_source import KernelSource, argument, dotted, set_keyword
from .syntax.kernel_view import KernelView
from .view_edit import ViewEdit

ZERO = "zero"


class TmaPadding(ViewEdit):
    """Let loads pad with zeros, which TMA can, and put the padding in afterwards."""

    id = "padding"
    title = "Zero padding and ct.where, so that a padded load can use TMA"
    examples = EXAMPLES
    names = (ZERO,)

    def change(self, view: KernelView, subject: Subject, variant: Variant) -> Outcome:
        """Rewrite every load that pads with another value than zero; skip where TMA would not be used all the same."""
        if not has_tma(subject.target):
            return Skipped(f"{subject.target} has no TMA")
        found = [_conversion(view, call, subject.launches) for call in view.source.calls("load")]
        conversions = [each for each in found if isinstance(each, Conversion)]
        if conversions and not view.source.calls(*COMBINES_ELEMENTS):
            return Skipped("the kernel combines no elements, and the compiler would read its tiles without TMA")
        nothing = "no ct.load of the kernel pads with anything but zeros"
        return convert(view, [each for each in found if each is not None], nothing, _promises)


def _promises(placed: list[tuple[Conversion, int]], _edited: KernelSource) -> tuple[Promise, ...]:
    lines = tuple(sorted({line for each, line in placed if each.tma}))
    promise = Promise("compile.tma_loads", "at-lines", "the padded loads use TMA", lines)
    return (promise,) if lines else ()


def _conversion(view: KernelView, call: cst.Call, launches: tuple[Launch, ...]) -> Conversion | Refusal | None:
    """The load with zero padding inside a `ct.where`; None for a load that pads with zeros or with anything."""
    load = padded_load(view, call)
    if load is None or isinstance(load, str):
        return None if load is None else Refusal(call, load)
    obstacle = _tma_obstacle(argument(call, 0, "array"), launches)
    if obstacle is not None:
        return Refusal(call, obstacle)

    def rewrite(updated: cst.Call) -> cst.BaseExpression:
        zeros = set_keyword(updated, "padding_mode", f"{view.tile}.PaddingMode.ZERO")
        if not load.mask:
            return zeros
        where = cst.parse_expression(f"{view.tile}.where({load.mask}, tile, {load.value})")
        where = cst.ensure_type(where, cst.Call)
        bare = zeros.with_changes(lpar=[], rpar=[])
        args = [where.args[0], where.args[1].with_changes(value=bare), where.args[2]]
        return where.with_changes(args=args, lpar=zeros.lpar, rpar=zeros.rpar)

    # Permuted loads of bfloat16 went without TMA, those of float32 through it (sm_90, sm_100).
    return Conversion(call, rewrite, tma=not load.permuted)


def _tma_obstacle(array: cst.BaseExpression | None, launches: tuple[Launch, ...]) -> str | None:
    """What a launch passes that TMA cannot read: a stride or an address that is no multiple of 16 bytes."""
    name = dotted(array)
    passed = (array_of(launch, name or "") for launch in launches)
    if all(given is None or reachable(given) for given in passed):
        return None
    return f"a launch passes an array {name} whose strides or address TMA cannot use"
