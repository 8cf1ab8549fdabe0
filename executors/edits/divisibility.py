"""divisibility: a whole number that the launch passes is declared divisible by 16 where it is, which the host finds out.

cuda-tile 1.7 finds by itself whether addresses, strides and extents of arrays are divisible by 16, but nothing of run-time
scalars: a row's start in a flat array, or the start of a slice. `ct.assume_divisible_by(n, d)` declares it, is believed
and never checked. The divisor is a constant that each launch computes, 16 or 1, and 1 declares nothing.
"""

from dataclasses import replace

import libcst as cst

from kdiag.records import Launch, Promise, ScalarArgument, Variant

from .base import Applied, Outcome, Skipped, Subject
from .examples.divisibility import EXAMPLES
from .launches.extra_argument import ELSEWHERE, Addition, clash, launch_calls, with_argument
from .launches.host_guard import divisor
from .syntax.bindings import names_in
from .syntax.kernel_source import KernelSource, dotted, method, nodes, read_kernel
from .syntax.kernel_view import KernelView, view_kernel
from .syntax.rewriting import behind_docstring
from .view_edit import ViewEdit

DIVISOR = 16
INTEGERS = ("int", "ScalarInt64")


class Divisibility(ViewEdit):
    """Declare one run-time scalar of a kernel divisible by 16, for the launches where it is."""

    id = "divisibility"
    title = "A scalar that is known to be divisible"
    examples = EXAMPLES

    def variants(self, subject: Subject) -> tuple[Variant, ...]:
        """Each whole number that the kernel is passed at run time and computes positions from."""
        view = view_kernel(subject.source, subject.kernel)
        names = [] if isinstance(view, Skipped) else _scalars(view, subject)
        return tuple(Variant(self.id, name) for name in names)

    def change(self, view: KernelView, subject: Subject, variant: Variant) -> Outcome:
        """Declare it at the top of the kernel, and add its divisor to kernel and launches."""
        reason = _unknown(view, subject, variant.name) or _useless(view, subject, variant.name)
        addition = Addition(f"{variant.name.upper()}_DIVISOR", "Constant[int]", f"{variant.name.lower()}_divisor")
        if reason is not None:
            return Skipped(reason)
        return clash(view.source, addition) or _declared(
            view, variant.name, replace(addition, kind=f"{view.tile}.{addition.kind}")
        )


def _scalars(view: KernelView, subject: Subject) -> list[str]:
    """The parameters annotated as run-time whole numbers, or known to be such from every captured launch."""
    read = view.source
    annotated = [
        parameter.name.value
        for parameter in read.function.params.params
        if parameter.annotation is not None and _is_integer(read, parameter.annotation.annotation)
    ]
    passed = [_whole_numbers(launch) for launch in subject.launches]
    plain = [each.name.value for each in read.function.params.params if each.annotation is None]
    return annotated + [name for name in plain if passed and all(name in values for values in passed)]


def _is_integer(read: KernelSource, kind: cst.BaseExpression) -> bool:
    return dotted(kind) == "int" or read.names.resolve(kind) in INTEGERS


def _whole_numbers(launch: Launch) -> dict[str, int]:
    return {
        each.name: each.value
        for each in launch.arguments
        if isinstance(each, ScalarArgument)
        and not each.constant
        and isinstance(each.value, int)
        and not isinstance(each.value, bool)
    }


def _unknown(view: KernelView, subject: Subject, name: str) -> str | None:
    """Why the parameter is not certainly a whole number that stays the same."""
    known = _scalars(view, subject)
    if not known:
        return "the kernel is passed no run-time scalar that is certainly a whole number"
    if name not in known:
        return f"{name or 'the variant'} is no run-time scalar of the kernel that is certainly a whole number"
    return None if view.bindings.is_bound_once(name) else _assigned(view, name)


def _assigned(view: KernelView, name: str) -> str:
    calls = [call for call in view.source.calls("assume_divisible_by") if name in names_in(call)]
    if calls:
        return f"line {view.source.line(calls[0])} declares {name} divisible already"
    return f"the kernel assigns {name} anew"


def _useless(view: KernelView, subject: Subject, name: str) -> str | None:
    """Why the declaration would be of no use."""
    if not _addresses(view, name):
        return f"{name} decides no position in an array: the machine code would stay the same"
    values = [_whole_numbers(launch).get(name) for launch in subject.launches]
    if values and all(value is None or value % DIVISOR for value in values):
        return f"{name} is divisible by {DIVISOR} in no captured launch"
    return None


def _addresses(view: KernelView, name: str) -> bool:
    """Whether the scalar flows into the index of a gather or scatter, or into a slice, through assignments."""
    reached = {name}
    assignments = list(nodes(view.source.function, cst.Assign))
    while True:
        bound = {
            target
            for each in assignments
            if reached & _kept(view, each.value)
            for part in each.targets
            for target in names_in(part.target)
        }
        if bound <= reached:
            break
        reached |= bound
    indexed = [call.args[1] for call in view.source.calls("gather", "scatter") if len(call.args) > 1]
    sliced = [call for call in nodes(view.source.function, cst.Call) if method(call) == "slice"]
    return any(reached & _kept(view, node) for node in (*indexed, *sliced))


def _kept(view: KernelView, node: cst.CSTNode) -> set[str]:
    """The names whose divisibility the expression may keep: not those inside divisions and comparisons."""
    divides = isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.FloorDivide | cst.Modulo)
    counts = view.is_call(node, "cdiv", "num_tiles")
    if divides or counts or isinstance(node, cst.Comparison):
        return set()
    if isinstance(node, cst.Name):
        return {node.value}
    return {name for child in node.children for name in _kept(view, child)}


def _declared(view: KernelView, name: str, addition: Addition) -> Outcome:
    """The file with the declaration as the kernel's first statement, and its divisor passed."""
    read = view.source
    launches = launch_calls(read)
    if isinstance(launches, Skipped):
        return launches
    passed = with_argument(launches, addition, lambda launch: divisor(launch, name, DIVISOR))
    if isinstance(passed, Skipped):
        return passed
    again = read_kernel(passed, read.name)
    if isinstance(again, Skipped) or not isinstance(again.function.body, cst.IndentedBlock):
        return Skipped("the kernel's body is not an indented block")
    text = f"{name} = {view.tile}.assume_divisible_by({name}, {addition.parameter})"
    source = _with_first(again, cst.parse_statement(text, again.module.config_for_parsing))
    where = read.place(read.function.params.params[-1])
    return Applied(source, where, _promises(), warnings=(ELSEWHERE.format(name=addition.parameter),))


def _promises() -> tuple[Promise, ...]:
    return (Promise("compile.tma_loads_rejected", "not-worse", "no load loses TMA"),)


def _with_first(read: KernelSource, statement: cst.BaseStatement) -> str:
    """The file with a statement at the top of the kernel, below its docstring."""
    return read.module.with_deep_changes(read.function.body, body=behind_docstring(read.function, statement)).code
