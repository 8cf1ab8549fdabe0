"""The mistakes that `wrong_edits` plants: each operator yields its name, a node of a kernel file and what it becomes.

Every operator stands for a mistake that an edit can make: an element offset where a tile index belongs, a bound that is
off by one, padding that the operation sees, a tail that is dropped, an accumulator that is too narrow or stale, a grid
that no longer fits.
"""

import ast
from itertools import zip_longest

from source_text import Text, called, keyword, parts

# ---- memory accesses


def accesses(text):
    for call in ast.walk(text.tree):
        name = called(call)
        if not isinstance(call, ast.Call) or name not in {"load", "store", "gather", "scatter", "atomic_add"}:
            continue
        index = keyword(call, "index") or call.args[1]
        shape = keyword(call, "shape")
        sizes = parts(shape) if shape is not None else []
        for part, size in zip_longest(parts(index), sizes):
            if part is None or (isinstance(part, ast.Constant) and part.value == 0):
                continue
            yield "offset by one", part, f"({text.of(part)}) + 1"
            yield "overlapping", part, f"({text.of(part)}) // 2"
            if size is not None:
                yield "element for tile", part, f"({text.of(part)}) * {text.of(size)}"
        if len(parts(index)) > 1:
            first, second, *rest = map(text.of, parts(index))
            yield "indices swapped", index, f"({', '.join([second, first, *rest])})"
        if name in {"store", "scatter", "atomic_add"}:
            yield "store lost", call, "None"
        yield from _bounds(text, call)


def _bounds(text, call):
    if (mode := keyword(call, "padding_mode")) is not None:
        for other in ("ZERO", "NEG_INF", "UNDETERMINED"):
            yield "padding changed", mode, f"ct.PaddingMode.{other}"
    if (value := keyword(call, "padding_value")) is not None:
        for other in ("0.0", "1.0"):
            yield "padding changed", value, other
    if (mask := keyword(call, "mask")) is not None:
        yield "mask removed", mask, "None"
    if (check := keyword(call, "check_bounds")) is not None:
        yield "bounds unchecked", check, str(text.of(check) != "True")


# ---- arithmetic

FUNCTIONS = {
    "max": "min", "sum": "max", "maximum": "minimum", "exp": "exp2", "argmin": "argmax", "rsqrt": "sqrt",
    "zeros": "ones", "sqrt": "rsqrt", "abs": "negative", "atomic_add": "atomic_max",
}  # fmt: skip
OPERATORS = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.Div: "*", ast.FloorDiv: "%", ast.Mod: "//", ast.BitAnd: "|",
}  # fmt: skip
COMPARISONS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}


def arithmetic(text):
    for node in ast.walk(text.tree):
        match node:
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                yield "operator", node, f"({text.of(left)} {OPERATORS[type(op)]} {text.of(right)})"
                if isinstance(op, ast.Sub | ast.Div | ast.FloorDiv | ast.Mod):
                    sign = {ast.Sub: "-", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%"}[type(op)]
                    yield "operands swapped", node, f"({text.of(right)} {sign} {text.of(left)})"
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
                yield "comparison", node, f"{text.of(left)} {COMPARISONS[type(op)]} {text.of(right)}"
                yield "bound off by one", right, f"({text.of(right)} + 1)"
                yield "bound off by one", right, f"({text.of(right)} - 1)"
            case ast.Constant(value=float(value)) if value not in (0.0, 0.75):
                yield "constant", node, "0.0" if abs(value) < 1e-3 else repr(value / 2)
            case ast.Call():
                yield from _calls(text, node)


def _calls(text, call):
    name, of = called(call), text.of
    if name in FUNCTIONS and of(call.func).startswith("ct."):
        yield "function", call.func, f"ct.{FUNCTIONS[name]}"
    if (axis := keyword(call, "axis")) is not None:
        yield "wrong axis", axis, f"1 - {of(axis)}"
    if name in {"full", "zeros"} and (dtype := keyword(call, "dtype")) is not None:
        yield "narrow accumulator", dtype, "ct.float16"
    words = [of(argument) for argument in call.args]
    yield from ((operator, call, new) for operator, new in _rewritten(name, words, of(call)))


def _rewritten(name, words, whole):
    """What may become of a call as a whole, by its name; `words` are its positional arguments."""
    match name, words:
        case (("bid" | "num_blocks"), [axis]):
            yield "wrong axis", f"ct.{name}(1 - {axis})"
        case "astype", [value, dtype]:
            yield "narrow cast", f"ct.astype(ct.astype({value}, ct.bfloat16), {dtype})"
        case "full", [shape, _, *_]:
            yield "initialization", f"ct.full({shape}, 1.0, dtype=ct.float32)"
        case "where", [condition, value, other]:
            yield "mask removed", value
            yield "branches swapped", f"ct.where({condition}, {other}, {value})"
        case "transpose", [tile] if whole.startswith("ct."):
            yield "transpose lost", tile
        case "mma", [left, right, total]:
            narrow = f"ct.astype({left}, ct.float8_e4m3fn), ct.astype({right}, ct.float8_e4m3fn)"
            yield "narrow operands", f"ct.mma({narrow}, {total})"
            yield "operands swapped", f"ct.mma({right}, {left}, {total})"
            yield "accumulator lost", f"ct.mma({left}, {right}, {total} * 0.0)"
        case "cdiv", [size, tile]:
            yield "rounded down", f"({size} // {tile})"
        case "min", [_, other] if whole.startswith("min"):
            yield "minimum lost", other
        case "arange", _:
            yield "stride", f"({whole} * 2)"


# ---- loops and statements


def loops(text):
    for node in ast.walk(text.tree):
        if not isinstance(node, ast.For) or called(node.iter) != "range":
            continue
        words = node.iter.args
        end = words[0] if len(words) == 1 else words[1]
        yield "last item dropped", end, f"{text.of(end)} - 1"
        yield "one item too many", end, f"{text.of(end)} + 1"
        begin = "0" if len(words) == 1 else text.of(words[0])
        tail = "".join(f", {text.of(word)}" for word in words[2:])
        yield "first item dropped", node.iter, f"range({begin} + 1, {text.of(end)}{tail})"
        if len(words) == 3:
            yield "wrong step", words[2], "1"
            yield "wrong step", words[2], f"{text.of(words[2])} * 2"
        yield from _hoisted(text, node, begin)


def _hoisted(text, loop, begin):
    """The first statement of the body in front of the loop: what it computes is stale from the second item on."""
    first, variable = loop.body[0], loop.target.id
    if not isinstance(first, ast.Assign) or len(loop.body) < 2:
        return
    moved = Text(text.of(first))
    names = [n for n in ast.walk(moved.tree) if isinstance(n, ast.Name) and n.id == variable]
    for name in sorted(names, key=moved.span, reverse=True):
        moved = Text(moved.replaced(name, begin))
    indent = " " * loop.col_offset
    body = text.of(loop)
    relative = text.span(first)[0] - text.span(loop)[0], text.span(first)[1] - text.span(loop)[0]
    yield ("stale across items", loop, f"{moved.source}\n{indent}{body[: relative[0]]}pass{body[relative[1] :]}")


def statements(text):
    for function in text.tree.body:
        if not isinstance(function, ast.FunctionDef) or not function.decorator_list:
            continue
        known = {argument.arg for argument in function.args.args}
        for node in ast.walk(function):
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
                continue
            name = node.targets[0].id
            if name in known:  # a later assignment: without it the old value stays
                yield "update lost", node, "pass"
                yield "counted twice", node, f"{text.of(node)}; {text.of(node)}"
            known.add(name)


def launches(text):
    """The wrapper: grid, arguments, allocations."""
    for call in ast.walk(text.tree):
        if isinstance(call, ast.Call) and text.of(call.func) == "torch.zeros":
            yield "initialization", call.func, "torch.empty"
        if called(call) != "launch":
            continue
        grid, arguments = (_assigned(text, node) for node in (call.args[1], call.args[3]))
        sizes = parts(grid)
        for size in sizes:
            if not (isinstance(size, ast.Constant) and size.value == 1):
                yield "grid too small", size, f"max({text.of(size)} - 1, 1)"
                yield "grid too large", size, f"{text.of(size)} + 1"
        if len(sizes) > 1:
            first, second, *rest = map(text.of, sizes)
            yield "grid swapped", grid, f"({', '.join([second, first, *rest])})"
        yield from _arguments(text, arguments)


def _arguments(text, arguments):
    values = parts(arguments)
    for at in range(len(values) - 1):
        words = [text.of(value) for value in values]
        words[at], words[at + 1] = words[at + 1], words[at]
        yield "arguments swapped", arguments, f"({', '.join(words)})"
    for value in values:
        if text.of(value).lower().startswith(("tile", "page", "group")):
            yield "stale tile", value, f"{text.of(value)} // 2"
            yield "stale tile", value, f"{text.of(value)} * 2"


def _assigned(text, node):
    """What the wrapper assigns to a name, or the expression itself."""
    if isinstance(node, ast.Name):
        for one in ast.walk(text.tree):
            if isinstance(one, ast.Assign) and text.of(one.targets[0]) == node.id:
                return one.value
    return node


ALL = (accesses, arithmetic, loops, statements, launches)
