"""The text of the launch function that searches once for each kind of arguments and keeps the tuned kernel object."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from kdiag.records import Scalar

from ..base import Skipped
from ..syntax.kernel_source import KernelSource, nodes
from ..syntax.rewriting import rewrite, to, with_before


@dataclass(frozen=True)
class Tuned:
    """What a launch function is written for: the kernel, the names of its tile sizes and hints, and their values.

    `written` and `constants` are positions of the kernel's parameters: what the search copies, and what is in its key.
    """

    kernel: str
    module: str
    tiles: tuple[str, ...]
    hints: tuple[str, ...]
    space: tuple[tuple[Scalar, ...], ...]
    written: tuple[int, ...]
    constants: tuple[int, ...]

    @property
    def function(self) -> str:
        return f"_launch_tuned_{self.kernel.lstrip('_')}"

    @property
    def names(self) -> tuple[str, str, str]:
        """The names that the text binds in the module."""
        base = self.kernel.strip("_").upper()
        return f"_{base}_SPACE", f"_{base}_TUNED", self.function


COPY = """\
    def copy(array):
        span = 1 + sum((n - 1) * step for n, step in zip(array.shape, array.stride())) if array.numel() else 0
        flat = array.detach().as_strided((span,), (1,)).clone()
        return flat.as_strided(array.shape, array.stride())
"""
HINTS = """
    def hints_of(config):
        return dict(zip({names}, config{offset}))
"""
SEARCHED = """\
# {columns} of {kernel}, first as it was before the search.
{space} = (
{rows})
{found} = {{}}


def {function}({signature}):
    \"\"\"Launch {kernel} with the {what} that are fastest for such arrays and constants.

    They are searched for once, on copies of the arrays that the kernel may write, and the kernel object is kept.
    \"\"\"

{copy}
    def scratch(config):
        return tuple(
            copy(value) if at in {written} and isinstance(value, torch.Tensor) else value
            for at, value in enumerate({arguments_of})
        )
{hints}
{opening}    key = (
        tuple(grid),
        tuple((a.shape, a.stride(), a.dtype, a.device) for a in arguments if isinstance(a, torch.Tensor)),
        tuple(arguments[at] for at in {constants}),
    )
    known = all(isinstance(value, (torch.Tensor, int, float)) for value in arguments)
    searchable = known and all(grid) and not torch.cuda.is_current_stream_capturing()
    if searchable and key not in {found}:
        result = {module}.tune.exhaustive_search(
            {space},
            stream,
            lambda config: {grid_of},
            {kernel},
            scratch,{taken}
            quiet=True,
        )
        config = result.best.config
        {found}[key] = config, {replaced}
    config, kernel = {found}.get(key, ({space}[0], {kernel}))
    {module}.launch(stream, {grid_of}, kernel, {arguments_of})
"""


def text(tuned: Tuned) -> str:
    """The search space, the kernels found so far, and the launch function."""
    space, found, function = tuned.names
    count = len(tuned.tiles)
    if count:
        signature, first = "stream, grid_of, arguments_of", f"*{space}[0][:{count}]"
        opening = f"    grid, arguments = grid_of({first}), arguments_of({first})\n"
        grid_of, arguments_of = f"grid_of(*config[:{count}])", f"arguments_of(*config[:{count}])"
    else:
        signature, opening, grid_of, arguments_of = "stream, grid, arguments", "", "grid", "arguments"
    what = " and ".join(["tile sizes"] * bool(count) + ["hints"] * bool(tuned.hints))
    offset = f"[{count}:]" if count else ""
    hints = HINTS.format(names=_tuple(tuned.hints), offset=offset) if tuned.hints else ""
    return SEARCHED.format(
        columns=", ".join((*tuned.tiles, *tuned.hints)),
        space=space,
        rows="".join(f"    {_tuple(entry)},\n" for entry in tuned.space),
        found=found,
        function=function,
        signature=signature,
        kernel=tuned.kernel,
        what=what,
        copy=COPY,
        written=_tuple(tuned.written),
        constants=_tuple(tuned.constants),
        grid_of=grid_of,
        arguments_of=arguments_of,
        hints=hints,
        opening=opening,
        module=tuned.module,
        taken="\n            hints_of," if tuned.hints else "",
        replaced=f"{tuned.kernel}.replace_hints(**hints_of(config))" if tuned.hints else tuned.kernel,
    )


def insert(
    module: cst.Module, before: cst.CSTNode, written: str, changes: Mapping[cst.CSTNode, cst.CSTNode | None]
) -> str:
    """The file's text with nodes exchanged, those changed to None removed, and statements put before one of the module's."""
    parsed = cst.parse_module(written.replace("\n", module.default_newline), module.config_for_parsing)
    blank = cst.EmptyLine(indent=False)
    leading = [blank, blank, *parsed.header, *parsed.body[0].leading_lines]
    first = parsed.body[0].with_changes(leading_lines=leading)
    exchanged = {node: to(new) for node, new in changes.items()}
    return rewrite(module, {before: with_before([first, *parsed.body[1:]])} | exchanged).code


def missing(read: KernelSource, names: Sequence[str]) -> Skipped | None:
    """Why the text cannot stand in the module: torch or cuda.tile is missing, or a name is taken."""
    if not read.names.modules:
        return Skipped("the file does not import cuda.tile under a name of its own")
    imports = [alias for statement in read.module.body for alias in nodes(statement, cst.ImportAlias)]
    if not any(alias.evaluated_name == "torch" and alias.asname is None for alias in imports):
        return Skipped("the file does not import torch, which the search needs for its copies and its key")
    taken = {node.value for node in nodes(read.module, cst.Name)} & set(names)
    return Skipped(f"the file has a {min(taken)} already") if taken else None


def _tuple(values: Sequence[Scalar]) -> str:
    return repr(tuple(values)).replace("'", '"')
