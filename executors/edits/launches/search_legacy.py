"""`autotune_launch` of cuda.tile_experimental, gone from cuda-tile 1.7, becomes `ct.tune.exhaustive_search` and `ct.launch`.

The old tuner kept what it found by the shapes, types and strides of the arguments, and so does the new launch function.
"""

import libcst as cst

from ..base import Applied, Outcome, Skipped, Subject
from ..syntax.kernel_source import KernelSource, argument, dotted, keyword, named, nodes, read_kernel, unpacks
from .search import constants, legacy_searches, not_read_only, on_current_stream, top_statement
from .search_template import COPY, insert, missing

PARTS = ((1, "grid_fn"), (3, "args_fn"), (4, "launch_args_fn"), (5, "hints_fn"))
# What the old tuner took besides; the number and order of its samples and its time limit have no successor.
DROPPED = ("max_iter", "compiler_time_limit_sec", "seed")


def modernize(subject: Subject) -> Outcome:
    """Exchange every `autotune_launch` of the kernel."""
    read = read_kernel(subject.source, subject.kernel)
    if isinstance(read, Skipped):
        return read
    found = legacy_searches(read)
    if not found:
        return Skipped(f"the file has no autotune_launch of {subject.kernel}")
    function = f"_launch_tuned_{subject.kernel.lstrip('_')}"
    cache = f"_{subject.kernel.strip('_').upper()}_TUNED"
    refused = missing(read, (function, cache))
    if refused is not None:
        return refused
    changes: dict[cst.CSTNode, cst.CSTNode | None] = {}
    for call in found:
        reason = _refusal(read, call)
        if reason is not None:
            return Skipped(f"line {read.line(call)}: {reason}")
        changes[call] = _modern(call, function)
    changes |= dict.fromkeys(_unused_imports(read, found))
    first = min(found, key=read.line)
    names = (subject.kernel, min(read.names.modules), function, cache)
    source = insert(read.module, top_statement(read, first), _text(read, names), changes)
    warning = "every configuration is tried, where autotune_launch drew at most max_iter (60) of them"
    return Applied(source, read.place(first), warnings=(warning,))


def _refusal(read: KernelSource, call: cst.Call) -> str | None:
    """Why a call cannot be exchanged."""
    if unpacks(call):
        return "the arguments of autotune_launch are unpacked"
    if not isinstance(read.parents[call], cst.Expr) or read.around(call, cst.FunctionDef) is None:
        return "the result of autotune_launch is used, or it stands outside every function"
    known = {name for _, name in PARTS} | {"stream", "kernel", "search_space", *DROPPED}
    other = next((a.keyword.value for a in call.args if a.keyword and a.keyword.value not in known), None)
    if other is not None:
        return f"autotune_launch gets {other}, which the search has not"
    if keyword(call, "search_space") is None or argument(call, 3, "args_fn") is None:
        return "autotune_launch gets no search_space or no args_fn"
    stream = argument(call, 0, "stream")
    current = dotted(getattr(stream, "func", None)) == "torch.cuda.current_stream"
    if argument(call, 4, "launch_args_fn") is None and not (current or on_current_stream(read, call)):
        return "without launch_args_fn the search needs copies, and the stream is not certainly torch's current one"
    return None


def _modern(call: cst.Call, function: str) -> cst.Call:
    """The call of the launch function: the same arguments by name, without the kernel and what has no successor."""
    places = dict(PARTS) | {0: "stream", 2: "kernel"}
    every = [given if given.keyword is not None else named(given, places[at]) for at, given in enumerate(call.args)]
    dropped = ("kernel", *DROPPED)
    kept = [given for given in every if given.keyword is None or given.keyword.value not in dropped]
    return call.with_changes(func=cst.Name(function), args=kept)


def _unused_imports(read: KernelSource, found: list[cst.Call]) -> list[cst.CSTNode]:
    """The import of the old tuner, where nothing else uses it: it fails with cuda-tile 1.7."""
    gone: list[cst.CSTNode] = []
    used = {(dotted(call.func) or "").partition(".")[0] for call in found}
    calls = {call.func for call in found}
    for line in nodes(read.module, cst.SimpleStatementLine):
        aliases = list(nodes(line, cst.ImportAlias))
        if len(line.body) != 1 or len(aliases) != 1 or "tile_experimental" not in read.text(line):
            continue
        name = aliases[0].evaluated_alias or aliases[0].evaluated_name
        inside = {n for part in (line, *calls) for n in nodes(part, cst.Name)}
        others = [n for n in nodes(read.module, cst.Name) if n.value == name and n not in inside]
        if name in used and not others:
            gone.append(line)
    return gone


def _text(read: KernelSource, names: tuple[str, str, str, str]) -> str:
    kernel, module, function, cache = names
    return f"""\
{cache} = {{}}


def {function}(stream, grid_fn, args_fn, search_space, launch_args_fn=None, hints_fn=None):
    \"\"\"Launch {kernel} with the configuration that is fastest for such arrays and constants.

    It is searched for once and kept with its kernel object. The search runs on what `args_fn` gives; without
    `launch_args_fn` these are the arrays of the launch, and those that the kernel may write are copied.
    \"\"\"

{COPY}
    def scratch(config):
        if launch_args_fn is not None:
            return args_fn(config)
        return tuple(
            copy(value) if at in {not_read_only(read)} and isinstance(value, torch.Tensor) else value
            for at, value in enumerate(args_fn(config))
        )

    space = tuple(search_space() if callable(search_space) else search_space)
    arguments = (launch_args_fn or args_fn)(space[0])
    key = (
        tuple(grid_fn(space[0])),
        tuple((a.shape, a.stride(), a.dtype, a.device) for a in arguments if isinstance(a, torch.Tensor)),
        tuple(arguments[at] for at in {constants(read)}),
    )
    if key not in {cache}:
        result = {module}.tune.exhaustive_search(
            space, stream, grid_fn, {kernel}, scratch, hints_fn, quiet=True
        )
        config = result.best.config
        {cache}[key] = config, {kernel}.replace_hints(**(hints_fn(config) if hints_fn else {{}}))
    config, kernel = {cache}[key]
    {module}.launch(stream, grid_fn(config), kernel, (launch_args_fn or args_fn)(config))
"""
