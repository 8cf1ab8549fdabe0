"""Functions that a kernel calls and that ask for the number of the block themselves: they have to be told it."""

from collections.abc import Iterator

import libcst as cst

from ..syntax.bindings import name_nodes
from ..syntax.kernel_source import KernelSource, argument, integer, nodes, set_keyword, unpacks
from ..syntax.rewriting import Change, to
from .blocks import BLOCK, BLOCKS, called_functions
from .wrapper import fresh_name

BlockCall = tuple[cst.Call, cst.FunctionDef]


def block_calls(read: KernelSource) -> list[BlockCall]:
    """The kernel's calls of functions that can be told the block's number: none but the kernel calls them."""
    found = []
    for helper in called_functions(read):
        calls = list(_calls(read, helper))
        uses = [n for n in name_nodes(read.module) if n.value == helper.name.value and n is not helper.name]
        if read.calls(BLOCK, within=helper) and len(uses) == len(calls) and _is_plain(read, helper):
            found += [(call, helper) for call in calls]
    return found


def told(read: KernelSource, calls: list[BlockCall], item: str) -> dict[cst.CSTNode, Change]:
    """What changes where the functions are told the number of the item."""
    changes: dict[cst.CSTNode, Change] = {}
    block = fresh_name(read, "block")
    for call, helper in calls:
        changes[call] = lambda updated: set_keyword(cst.ensure_type(updated, cst.Call), block, item)
        last = helper.params.params[-1]
        added = [last.with_changes(comma=cst.MaybeSentinel.DEFAULT), cst.Param(cst.Name(block), comma=last.comma)]
        changes[helper.params] = to(helper.params.with_changes(params=[*helper.params.params[:-1], *added]))
        for asked in read.calls(BLOCK, within=helper):
            changes[asked] = to(cst.Name(block))
    return changes


def _calls(read: KernelSource, helper: cst.FunctionDef) -> Iterator[cst.Call]:
    for call in nodes(read.function.body, cst.Call):
        named = isinstance(call.func, cst.Name) and call.func.value == helper.name.value
        if named and not unpacks(call):
            yield call


def _is_plain(read: KernelSource, helper: cst.FunctionDef) -> bool:
    """Whether a function asks for the block along x and nothing else, and takes one more parameter at its end."""
    params = helper.params
    others = params.kwonly_params or params.star_kwarg or isinstance(params.star_arg, cst.Param | cst.ParamStar)
    asked = [integer(argument(call, 0, "axis")) for call in read.calls(BLOCK, within=helper)]
    return (
        isinstance(read.parents[helper], cst.Module)
        and bool(params.params)
        and params.params[-1].default is None
        and not others
        and set(asked) == {0}
        and not read.calls(BLOCKS, within=helper)
    )
