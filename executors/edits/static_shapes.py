"""static-shape: extents and strides of arrays as compile-time constants, `ct.ArrayAnnotation` on the kernel's parameters.

cuda-tile 1.7 then compiles the kernel once for each value that it meets, so every input keeps working and needs no guard;
what it costs is compilations. Only last axes are fixed, whose extents models determine, and only where the captured
launches say that no new compilations come of it: the extent is a constant of the kernel already, or it stays while the
leading extents change. Strides: once one is listed, the run time no longer takes any other to be 1, so all are listed.
"""

from collections.abc import Iterator

import libcst as cst

from kdiag.records import ArrayArgument, Launch, ScalarArgument, Variant

from .accesses.inside_array import certain_rank
from .accesses.launch_bounds import array_of
from .accesses.reach import array_extent, array_parameter
from .base import Applied, Outcome, Skipped, Subject
from .examples.static_shapes import EXAMPLES
from .syntax.imports import with_import
from .syntax.kernel_source import dotted, nodes, replace
from .syntax.kernel_view import KernelView
from .view_edit import ViewEdit

SHAPE, STRIDES = "shape", "strides"
VARIANTS = (SHAPE, f"{SHAPE},{STRIDES}", STRIDES)
COSTS = "the kernel is compiled anew for every other extent of a last axis"


class StaticShapes(ViewEdit):
    """Fix the last extent of arrays when compiling, their strides, or both."""

    id = "static-shape"
    title = "Extents and strides as compile-time constants"
    examples = EXAMPLES
    names = VARIANTS

    def change(self, view: KernelView, subject: Subject, variant: Variant) -> Outcome:
        """Annotate every array parameter for which it costs no compilations; skip where there is none."""
        if not subject.launches:
            return Skipped("only captured launches can say which extents stay the same")
        parameters = view.source.function.params.params
        plain = [each for each in parameters if each.annotation is None and _passed(each, subject.launches)]
        if not plain:
            return Skipped("no parameter without an annotation is passed an array in every captured launch")
        strides = STRIDES in variant.name
        reasons = {each: _refusal(view, each.name.value, subject.launches, strides) for each in plain}
        chosen = [each for each, reason in reasons.items() if reason is None]
        if not chosen:
            return Skipped(reasons[plain[0]] or "")
        return _annotated(view, chosen, variant.name, subject.launches)


def _passed(parameter: cst.Param, launches: tuple[Launch, ...]) -> bool:
    return all(array_of(launch, parameter.name.value) is not None for launch in launches)


def _refusal(view: KernelView, name: str, launches: tuple[Launch, ...], strides: bool) -> str | None:
    """Why the last axis of an array cannot be fixed, or its strides."""
    arrays = [array for launch in launches if (array := array_of(launch, name)) is not None]
    rank = len(arrays[0].shape)
    if rank == 0 or not certain_rank(view, name, rank) or any(len(each.shape) != rank for each in arrays):
        return f"it is not certain that {name} always has {rank} axes"
    read = next(_extents_read(view, name, rank - 1), None)
    if read is not None:
        return f"line {view.source.line(read)} reads extents or strides of {name}, which would change their type"
    if strides and any(each.strides not in (arrays[0].strides, (each.shape[-1], 1)) for each in arrays):
        return f"the strides of {name} change between launches, each value would be compiled anew"
    return _costs(name, arrays, launches)


def _costs(name: str, arrays: list[ArrayArgument], launches: tuple[Launch, ...]) -> str | None:
    """Why fixing the last extent would cost compilations, or may."""
    if all(array.shape[-1] in _constants(launch) for array, launch in zip(arrays, launches, strict=True)):
        return None
    if len({each.shape[-1] for each in arrays}) > 1:
        return f"the last extent of {name} changes between launches, each value would be compiled anew"
    if len({each.shape[:-1] for each in arrays}) == 1:
        return f"no captured launch says that the last extent of {name} stays while others change"
    return None


def _constants(launch: Launch) -> set[int]:
    """The whole numbers that the launch is compiled for already."""
    given = [each for each in launch.arguments if isinstance(each, ScalarArgument) and each.constant]
    return {each.value for each in given if isinstance(each.value, int)}


def _extents_read(view: KernelView, name: str, axis: int) -> Iterator[cst.CSTNode]:
    """Where the kernel reads `x.shape` or `x.strides` otherwise than one extent along another axis."""
    for node in nodes(view.source.function, cst.Attribute):
        if node.attr.value in ("shape", "strides") and array_parameter(view, node.value, node) == name:
            around = view.source.parents[node]
            extent = array_extent(view, around, node) if isinstance(around, cst.Subscript) else None
            if extent is None or extent.axis == axis:
                yield node


def _annotated(view: KernelView, chosen: list[cst.Param], variant: str, launches: tuple[Launch, ...]) -> Outcome:
    read = view.source
    origin = next((n for n in nodes(read.module, cst.ImportFrom) if _imports_annotated(n)), None)
    uses = [name for name in nodes(read.module, cst.Name) if name.value == "Annotated"]
    if origin is None and uses:
        return Skipped("the file uses the name Annotated for something else than typing.Annotated")
    changes: dict[cst.CSTNode, cst.CSTNode] = {}
    for parameter in chosen:
        array = array_of(launches[0], parameter.name.value)
        rank = len(array.shape) if array is not None else 1
        given = {
            SHAPE: "static_shape_dims=(-1,)",
            STRIDES: f"static_stride_dims=({', '.join(map(str, range(rank)))}{',' if rank == 1 else ''})",
        }
        fixed = ", ".join(given[name] for name in variant.split(","))
        text = f"Annotated[{view.tile}.Array, {view.tile}.ArrayAnnotation({fixed})]"
        changes[parameter] = parameter.with_changes(annotation=cst.Annotation(cst.parse_expression(text)))
    source = replace(read.module, changes)
    source = source if origin is not None else with_import(source, "from typing import Annotated")
    return Applied(source, read.place(chosen[0]), warnings=(COSTS,))


def _imports_annotated(node: cst.ImportFrom) -> bool:
    names = () if isinstance(node.names, cst.ImportStar) else node.names
    plain = any(each.evaluated_name == "Annotated" and each.asname is None for each in names)
    return dotted(node.module) == "typing" and plain
