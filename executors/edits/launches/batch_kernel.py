"""The text of a batched launch: the kernel over lists of arrays, the guard of the host, and the loop that stays behind it."""

import libcst as cst

from ..base import Skipped
from ..syntax.bindings import Bindings, names_in
from ..syntax.kernel_source import KernelSource, argument, dotted, integer, nodes, positional
from .batch_loop import BatchLoop

MOST_ITEMS = 65535  # blocks along the second axis of a grid
ITEM = "item"


def guard(name: str) -> str:
    """The host's check that items may run in one launch."""
    return f'''def {name}(items, written):
    """Whether one launch may do what one launch an item does: alike, and no item writes what another one uses."""
    columns = list(zip(*items))
    if not 1 < len(items) <= {MOST_ITEMS} or any(
        len({{(array.dtype, array.ndim, array.device) for array in column}}) != 1 for column in columns
    ):
        return False
    spans = []
    for at, column in enumerate(columns):
        for array in column:
            if array.numel() == 0:
                return False
            last = sum((extent - 1) * stride for extent, stride in zip(array.shape, array.stride()))
            start = array.data_ptr()
            spans.append((start, start + (last + 1) * array.element_size(), at in written))
    any_end = written_end = 0
    for start, end, writes in sorted(spans):
        if start < written_end or (writes and start < any_end):
            return False
        any_end = max(any_end, end)
        written_end = max(written_end, end) if writes else written_end
    return True
'''


def batched_kernel(read: KernelSource, found: BatchLoop, name: str, tile: str) -> cst.FunctionDef | Skipped:
    """The kernel with lists in place of the arrays; blocks behind an item's last tile do nothing."""
    kernel = read.function
    if (reason := _unfit(read, found)) is not None:
        return Skipped(reason)
    lists = {parameter: f"{parameter}_items" for parameter in found.columns}
    used = names_in(kernel)
    if {ITEM, *lists.values()} & used:
        return Skipped(f"the kernel uses the names {ITEM} or {', '.join(lists.values())} already")
    parameters = [
        parameter.with_changes(name=cst.Name(lists.get(parameter.name.value, parameter.name.value)))
        for parameter in kernel.params.params
    ]
    opening = [f"{ITEM} = {tile}.bid(1)", *(f"{p} = {name}[{ITEM}]" for p, name in lists.items())]
    body = [cst.parse_statement(text) for text in opening]
    condition = cst.parse_expression(f"{tile}.bid(0) < {tile}.cdiv({found.extent}, {found.tile})")
    inner = kernel.body.with_changes(body=kernel.body.body[kernel.get_docstring() is not None :])
    return kernel.with_changes(
        name=cst.Name(name),
        params=kernel.params.with_changes(params=parameters),
        body=kernel.body.with_changes(body=[*body, cst.If(condition, inner)]),
        leading_lines=[cst.EmptyLine(indent=False), cst.EmptyLine(indent=False)],
    )


def _unfit(read: KernelSource, found: BatchLoop) -> str | None:
    """Why the kernel cannot run on one of several items."""
    kernel = read.function
    returned = next(nodes(kernel.body, cst.Return), None)
    if any(integer(argument(call, 0, "axis")) != 0 for call in read.calls("bid")) or read.calls("num_blocks"):
        return "the kernel uses more than one axis of the grid, or its size"
    if returned is not None or not isinstance(kernel.body, cst.IndentedBlock):
        return f"line {read.line(returned or kernel.body)}: the kernel returns early or stands on one line"
    bindings = Bindings(kernel, read)
    if not all(bindings.is_bound_once(parameter) for parameter in found.columns):
        return "the kernel binds the name of an array again"
    stored = {found.columns[at] for at in found.written}
    loaded = {dotted(argument(call, 0, "array")) for call in read.calls("load", "gather")}
    atomics = [call for call in nodes(kernel, cst.Call) if "atomic" in (read.names.resolve(call.func) or "")]
    helpers = [call for call in nodes(kernel.body, cst.Call) if read.names.resolve(call.func) is None]
    unseen = [call for call in helpers if {dotted(a.value) for a in call.args} & set(found.columns)]
    if atomics or unseen:
        return f"line {read.line((atomics or unseen)[0])}: what the kernel writes cannot be seen"
    both = sorted(stored & {name for name in loaded if name})
    return f"the kernel reads and writes {both[0]}" if both else None


def batched_loop(read: KernelSource, found: BatchLoop, kernel: str, check: str) -> list[cst.BaseStatement]:
    """One launch behind the guard, and the loop as it was for what the guard refuses."""
    items, names = "items", [dotted(element.value) or "" for element in _elements(found.loop)]
    first = cst.parse_statement(f"{items} = list({read.text(found.loop.iter)})")
    first = cst.ensure_type(first, cst.SimpleStatementLine).with_changes(leading_lines=found.loop.leading_lines)
    by_parameter = dict(zip(found.columns, names, strict=True))
    stream = read.text(found.launch.args[0].value)
    passed = cst.ensure_type(positional(found.launch)[3], cst.Tuple)
    parameters = read.parameters
    target = ", ".join(names)
    arguments = [
        f"[{by_parameter[parameter]} for {target} in {items}]"
        if parameter in by_parameter
        else read.text(element.value)
        for parameter, element in zip(parameters, passed.elements, strict=True)
    ]
    launch = read.text(found.launch.func)
    flat = f" and all({found.flat}.ndim == 1 for {target} in {items})" if found.flat else ""
    text = f"""if {check}({items}, written={{{", ".join(map(str, found.written))}}}){flat}:
    blocks = max({found.count} for {target} in {items})
    {launch}({stream}, (blocks, len({items}), 1), {kernel}, ({", ".join(arguments)}))
"""
    chosen = cst.ensure_type(cst.parse_statement(text), cst.If)
    again = found.loop.with_changes(iter=cst.Name(items), leading_lines=[])
    return [first, chosen.with_changes(orelse=cst.Else(cst.IndentedBlock([again])))]


def _elements(loop: cst.For) -> list[cst.BaseElement]:
    return list(loop.target.elements) if isinstance(loop.target, cst.Tuple) else []
