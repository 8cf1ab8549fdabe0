"""One access to memory: what its index is made of, and its settings."""

from collections.abc import Sequence

import libcst as cst

from .facts import Access, AccessKind, IndexForm
from .flow import Frame
from .names import argument
from .values import UNDECIDED, Kind, Value, combined

_BY_TILES: tuple[AccessKind, ...] = ("load", "store")


def read_access(kind: AccessKind, call: cst.Call, frame: Frame, parts: Sequence[Value], view: bool) -> Access:
    """The access that a call makes. `parts` are the values of its arguments, behind that of the view if it has one."""
    module, settings = frame.module, frame.module.keywords(call)
    array = call.func.value if view and isinstance(call.func, cst.Attribute) else argument(call, 0, "array")
    node = _index(kind, call, view)
    given = {arg.value: value for arg, value in zip(call.args, parts[view:], strict=True)}
    index = given.get(node, UNDECIDED) if node is not None else UNDECIDED
    shape = argument(call, 2, "shape") if kind == "load" and not view else None
    form: IndexForm = _form(kind, index) if node is not None else "unknown"
    return Access(
        kind=kind,
        array=module.of(array) if array is not None else "",
        where=module.place(call),
        index=module.of(node) if node is not None else "",
        form=form,
        step=_step(index) if kind not in _BY_TILES and form != "unknown" else None,
        shape=module.of(shape) if shape is not None else None,
        padding=settings.get("padding_mode", settings.get("padding_value")),
        padding_mode=_padding_mode(kind, call, given, parts[0] if view else None),
        latency=settings.get("latency"),
        allow_tma=settings.get("allow_tma"),
        check_bounds=settings.get("check_bounds"),
        mask=settings.get("mask"),
        loops=frame.loops,
    )


def _index(kind: AccessKind, call: cst.Call, view: bool) -> cst.BaseExpression | None:
    place = 0 if view else 1
    for keyword in ("index", "indices", "offset"):
        if (found := argument(call, place, keyword)) is not None:
            return found
    return None


def _form(kind: AccessKind, index: Value) -> IndexForm:
    if Kind.LOADED in index.kinds:
        return "indirect"
    if Kind.UNKNOWN in index.kinds:
        return "unknown"
    varies = any(part.steps for part in _items(index))
    if kind in _BY_TILES:
        return "affine" if varies else "tile-index"
    if any(Kind.IRREGULAR in part.kinds for part in index.items or (index,)):
        return "unknown"
    return "affine" if varies else "scalar"


def _step(index: Value) -> int | None:
    """The step along the array's last axis: that of a contiguous range, where the index holds one."""
    last = _items(index)[-1]
    if Kind.IRREGULAR in last.kinds or Kind.UNKNOWN in last.kinds or (Kind.LOADED in last.kinds and not last.steps):
        return None
    steps = [step for _, step in last.steps]
    if len(steps) <= 1:
        return steps[0] if steps else 0
    return 1 if 1 in steps else None


def _items(index: Value) -> tuple[Value, ...]:
    return index.items or (index,)


def _padding_mode(
    kind: AccessKind, call: cst.Call, given: dict[cst.BaseExpression, Value], view: Value | None
) -> str | None:
    if kind != "load":
        return None
    if view is not None:
        return view.mode
    node = argument(call, 99, "padding_mode")
    return "UNDETERMINED" if node is None else given.get(node, combined([])).mode
