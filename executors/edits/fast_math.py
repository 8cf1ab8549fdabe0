"""H: cheaper instructions for exponentials, divisions, roots and tanh of float32 tiles.

Only what is certainly a float32 tile is rewritten: index arithmetic, numbers, host code and other functions stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import libcst as cst

from kdiag.executors.edits.arithmetic import fast_math_rewrites as rewrites
from kdiag.executors.edits.arithmetic.fast_math_rewriter import Recipe, Rewriter
from kdiag.executors.edits.arithmetic.fast_math_rewrites import CallRewrite, Math
from kdiag.executors.edits.arithmetic.float32_values import float32_values
from kdiag.executors.edits.base import Applied, Edit, Example, Outcome, Skipped, Subject
from kdiag.executors.edits.examples.fast_math import EXAMPLES
from kdiag.executors.edits.syntax.kernel_source import KernelSource, dotted, nodes, read_kernel
from kdiag.records import Promise, Safety, Variant

# Compiled for sm_90 with cuda-tile 1.7: a row softmax shrinks from 14.5 to 7.0 KB (all), an RMS norm from 15.3 to 6.5 KB.
PROMISE = Promise("compile.code_bytes", "decreases", "there is less code for exponentials and divisions")
INTEGERS = ("int", "uint")
QUANTIZED = ("int8", "uint8", "int4", "float8_", "float4_")


EXPONENTIALS: Mapping[str, CallRewrite] = {"exp": rewrites.exp2, "exp2": rewrites.exp2}
TRUEDIV: Mapping[str, CallRewrite] = {"truediv": rewrites.approximate_truediv}
RECIPES: Mapping[str, Recipe] = {
    "all": Recipe(
        "exponential or division",
        {**EXPONENTIALS, **TRUEDIV},
        (rewrites.reciprocal_root, rewrites.approximate_division),
    ),
    "exp2": Recipe("exponential", EXPONENTIALS),
    "approx-division": Recipe("division", TRUEDIV, (rewrites.approximate_division,)),
    "rsqrt": Recipe("division by a square root", {}, (rewrites.reciprocal_root,)),
    "reciprocal": Recipe("division by a value of the row", {}, (rewrites.row_reciprocal,)),
    "tanh": Recipe("tanh", {"tanh": rewrites.tanh}),
}


class FastMath(Edit):
    """Approximate float32 math, flushing denormals to zero."""

    id: ClassVar[str] = "H"
    title: ClassVar[str] = "Fast math: exp2, approximate division, flush to zero"
    examples: ClassVar[tuple[Example, ...]] = EXAMPLES

    def variants(self, subject: Subject) -> tuple[Variant, ...]:
        """All at once first, then each rewrite alone."""
        return tuple(Variant("H", name) for name in RECIPES)

    def safety(self, variant: Variant) -> Safety:
        """A few units in the last place of float32; tanh keeps about 11 bits."""
        return "changes-rounding"

    def apply(self, subject: Subject, variant: Variant) -> Outcome:
        """Rewrite what is certainly a float32 tile, or name the first expression that is not known to be one."""
        recipe = RECIPES.get(variant.name)
        if recipe is None:
            return Skipped(f"there is no fast-math variant {variant.name}")
        found = read_kernel(subject.source, subject.kernel)
        return found if isinstance(found, Skipped) else _rewritten(found, recipe)


def _rewritten(kernel: KernelSource, recipe: Recipe) -> Outcome:
    if not kernel.names.modules:
        return Skipped("the file does not import cuda.tile as a module")
    quantizes = _quantization(kernel) if recipe.divisions or "truediv" in recipe.calls else None
    if quantizes is not None:
        line = kernel.place(quantizes).line
        return Skipped(f"the kernel quantizes in line {line}, and divisions before that must stay exact")
    rewriter = Rewriter(Math(float32_values(kernel), kernel.names, min(kernel.names.modules)), recipe)
    edited = kernel.module.visit(rewriter)
    if rewriter.changed:
        first = min(
            (kernel.place(node) for node in rewriter.changed), key=lambda place: (place.line, place.column)
        )
        return Applied(edited.code, first, (PROMISE,))
    return Skipped(_refusal(kernel, recipe, rewriter.math))


def _quantization(kernel: KernelSource) -> cst.CSTNode | None:
    """A mention of an 8-bit or narrower dtype in the kernel, or a conversion to an integer."""
    body = kernel.function.body
    names: list[cst.CSTNode] = [*nodes(body, cst.Attribute), *nodes(body, cst.Name)]
    for node in names:
        if (kernel.names.resolve(node) or "").startswith(QUANTIZED):
            return node
    for call in nodes(body, cst.Call):
        converts = kernel.names.resolve(call.func) == "astype" or (dotted(call.func) or "").endswith(
            ".astype"
        )
        if converts and call.args and (kernel.names.resolve(call.args[-1].value) or "").startswith(INTEGERS):
            return call
    return None


def _refusal(kernel: KernelSource, recipe: Recipe, math: Math) -> str:
    """Why nothing was rewritten, with the first expression that might have been."""
    calls = kernel.calls(*recipe.calls)
    candidates: list[cst.BaseExpression] = [c for c in calls if all(a.keyword is None for a in c.args)]
    if recipe.divisions:
        divisions = nodes(kernel.function, cst.BinaryOperation)
        candidates += [node for node in divisions if isinstance(node.operator, cst.Divide)]
    doubtful = [node for node in candidates if math.kind(node) is None]
    if not doubtful:
        return f"the kernel has no {recipe.what} on float32 tiles that could be made cheaper"
    first = min(doubtful, key=lambda node: kernel.place(node).line)
    return f"cannot tell that `{kernel.text(first)}` in line {kernel.place(first).line} is a float32 tile"
