"""H: cheaper instructions for exponentials, divisions, roots and tanh of float32 tiles.

What is certainly a float32 tile is rewritten; what may be one is rewritten behind a test of its dtype, which cuTile
evaluates when it traces the kernel, so that for other dtypes the machine code stays what it was. Index arithmetic,
numbers and host code stay. The functions of the file that the kernel calls are rewritten with it.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

import libcst as cst

from kdiag.records import Launch, Promise, Safety, Variant

from .arithmetic import fast_math_rewrites as rewrites
from .arithmetic.fast_math_knowledge import Math
from .arithmetic.fast_math_rewriter import Recipe, Rewriter
from .arithmetic.fast_math_rewrites import CallRewrite
from .arithmetic.float32_kinds import Kind
from .arithmetic.float32_values import float32_values, values_for_any_caller
from .arithmetic.local_functions import changed_for_others, with_functions
from .arithmetic.tf32_operands import passes_float32
from .base import Applied, Edit, Outcome, Skipped, Subject
from .examples.fast_math import EXAMPLES
from .syntax.kernel_source import KernelSource, last_name, nodes, read_kernel

# Compiled for sm_90 with cuda-tile 1.7: a row softmax shrinks from 14.5 to 7.0 KB (all), an RMS norm from 15.3 to 6.5 KB.
PROMISE = Promise("compile.code_bytes", "not-worse", "code for exponentials and divisions has not grown")
INTEGERS = ("int", "uint")
QUANTIZED = re.compile(r"u?int[48]|float[48]_\w+|pack_to_bytes")
LARGEST_FOLDED = 2.3e38
FOLDED = "exp2-folded"
OVERFLOW = (
    "exp(a - b) becomes exp2(a * log2(e) - b * log2(e)): a finite a or b beyond 2.3e38, such as a mask of the lowest "
    "float32, overflows and gives NaN where both were masked"
)


EXPONENTIALS: Mapping[str, CallRewrite] = {"exp": rewrites.exp2, "exp2": rewrites.exp2}
FOLDED_EXPONENTIALS: Mapping[str, CallRewrite] = {"exp": rewrites.folded_exp2, "exp2": rewrites.exp2}
TRUEDIV: Mapping[str, CallRewrite] = {"truediv": rewrites.approximate_truediv}
ROOTS: Mapping[str, CallRewrite] = {
    "sqrt": rewrites.approximate_root,
    "rsqrt": rewrites.approximate_root,
    "pow": rewrites.root_of_power,
}
RECIPES: Mapping[str, Recipe] = {
    "all": Recipe(
        "exponential, root or division",
        {**EXPONENTIALS, **TRUEDIV, **ROOTS},
        (rewrites.reciprocal_root, rewrites.approximate_division),
    ),
    "exp2": Recipe("exponential", EXPONENTIALS),
    FOLDED: Recipe("exponential", FOLDED_EXPONENTIALS),
    "approx-division": Recipe("division", TRUEDIV, (rewrites.approximate_division,)),
    "rsqrt": Recipe("square root", ROOTS, (rewrites.reciprocal_root,)),
    "reciprocal": Recipe("division by a value of the row or a number", {}, (rewrites.reciprocal,)),
    "tanh": Recipe("tanh", {"tanh": rewrites.tanh}),
}


class FastMath(Edit):
    """Approximate float32 math, flushing denormals to zero."""

    id = "H"
    title = "Fast math: exp2, approximate division, flush to zero"
    examples = EXAMPLES

    def variants(self, subject: Subject) -> tuple[Variant, ...]:
        """All at once first, then each rewrite alone."""
        return tuple(Variant("H", name) for name in RECIPES)

    def safety(self, variant: Variant) -> Safety:
        """A few units in the last place of float32; tanh keeps about 11 bits."""
        return "changes-rounding"

    def apply(self, subject: Subject, variant: Variant) -> Outcome:
        """Rewrite what is certainly a float32 tile, or name the first expression that is not known to be one."""
        if variant.name not in RECIPES:
            return Skipped(f"there is no fast-math variant {variant.name}")
        found = read_kernel(subject.source, subject.kernel)
        return found if isinstance(found, Skipped) else _rewritten(found, variant.name, subject.launches)


def _rewritten(kernel: KernelSource, name: str, launches: tuple[Launch, ...]) -> Outcome:
    if not kernel.names.modules:
        return Skipped("the file does not import cuda.tile as a module")
    recipe, values = RECIPES[name], float32_values(kernel)
    functions = [kernel.function, *dict.fromkeys(values.calls.values())]
    if recipe.divisions and (line := _quantization(kernel, functions)):
        return Skipped(f"the kernel quantizes in line {line}, and divisions before that must stay exact")
    if name == FOLDED and (line := _overflow(kernel, functions)):
        return Skipped(f"the number in line {line}, times log2(e), is beyond float32")
    rewriters = {function: Rewriter(Math(kernel, values, function), recipe) for function in functions}
    edited = {function: rewriter.rewritten() for function, rewriter in rewriters.items()}
    changed = [node for rewriter in rewriters.values() for node in rewriter.changed]
    if not changed:
        return Skipped(_refusal(kernel, recipe, list(rewriters.values())))
    certain = any(set(rewriter.changed) - rewriter.guarded for rewriter in rewriters.values())
    if not certain and launches and not any(map(passes_float32, launches)):
        return Skipped("no launch passes a float32 array, and the kernel computes in the dtype of its arrays")
    new = {function: edited[function] for function, rewriter in rewriters.items() if rewriter.changed}
    general = {function for function in set(new) - {kernel.function} if _is_general(rewriters[function])}
    first = kernel.first(changed)
    written = with_functions(kernel, new, values.calls, general)
    warnings = (*((OVERFLOW,) if name == FOLDED else ()), *changed_for_others(written))
    return Applied(written.source, first, (PROMISE,), warnings=warnings)


def _is_general(rewriter: Rewriter) -> bool:
    """Whether what was rewritten in a function holds for every caller."""
    math = rewriter.math
    anyone = replace(math, values=values_for_any_caller(math.kernel, math.function))
    rewritten = [node for node in rewriter.changed if isinstance(node, cst.BaseExpression)]
    same = all(math.guard(node) == anyone.guard(node) for node in rewritten)
    return same and len(rewritten) == len(rewriter.changed)


def _quantization(kernel: KernelSource, functions: list[cst.FunctionDef]) -> int | None:
    """The line of a mention of an 8-bit or narrower dtype, or of a conversion to an integer."""
    for function in functions:
        names: list[cst.Attribute | cst.Name] = [*nodes(function.body, cst.Attribute), *nodes(function.body, cst.Name)]
        for node in names:
            if QUANTIZED.fullmatch((kernel.names.resolve(node) or last_name(node)).rpartition(".")[2]):
                return kernel.line(node)
        for call in nodes(function.body, cst.Call):
            converts = (last_name(call.func) or "astype") == "astype"
            if converts and call.args and last_name(call.args[-1].value).startswith(INTEGERS):
                return kernel.line(call)
    return None


def _overflow(kernel: KernelSource, functions: list[cst.FunctionDef]) -> int | None:
    """The line of a finite number that log2(e) would take beyond float32, as masks are written."""
    for function in functions:
        for number in nodes(function.body, cst.Float):
            if LARGEST_FOLDED < number.evaluated_value < float("inf"):
                return kernel.line(number)
        for node in nodes(function.body, cst.Name):
            if node.value == "finfo":
                return kernel.line(node)
    return None


def _refusal(kernel: KernelSource, recipe: Recipe, rewriters: list[Rewriter]) -> str:
    """Why nothing was rewritten, with the first expression that might have been."""
    for rewriter in rewriters:
        for division, deciding in rewriter.kept.items():
            line, at = kernel.line(division), kernel.line(deciding)
            return f"the division in line {line} decides the comparison or step in line {at}, and must stay exact"
    math = rewriters[0].math
    calls = kernel.calls(*recipe.calls)
    candidates: list[cst.BaseExpression] = [c for c in calls if all(a.keyword is None for a in c.args)]
    if recipe.divisions:
        divisions = nodes(kernel.function, cst.BinaryOperation)
        candidates += [node for node in divisions if isinstance(node.operator, cst.Divide)]
    doubtful = [node for node in candidates if math.guard(node) is None and math.kind(node) != Kind.NUMBER]
    if not doubtful:
        return f"the kernel has no {recipe.what} on float32 tiles that could be made cheaper"
    first = min(doubtful, key=kernel.line)
    return f"cannot tell that `{kernel.text(first)}` in line {kernel.line(first)} is a float32 tile"
