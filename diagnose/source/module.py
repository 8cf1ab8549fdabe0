"""A parsed file, and the files its functions are imported from."""

import ast
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from kdiag.errors import UsageError
from kdiag.records import Place

from .names import Names, ScopedNode, read_names, scoped_nodes
from .text import Resolver


@dataclass(frozen=True, eq=False)
class Module:
    """The syntax tree of one file with the text and the position of every node.

    `nodes` are those of the tree in the order of the text, each with the dotted name of what it stands in.
    """

    tree: cst.Module
    nodes: Sequence[ScopedNode]
    file: str
    names: Names
    positions: Mapping[cst.CSTNode, CodeRange]

    def of(self, node: cst.CSTNode) -> str:
        return self.tree.code_for_node(node).strip()

    def place(self, node: cst.CSTNode) -> Place:
        start = self.positions[node].start
        return Place(self.file, start.line, start.column)

    def keywords(self, call: cst.Call) -> dict[str, str]:
        """The keyword arguments as text; what is unpacked with ** is named "**"."""
        return {
            arg.keyword.value if arg.keyword else "**": self.of(arg.value)
            for arg in call.args
            if arg.keyword is not None or arg.star == "**"
        }


@dataclass(frozen=True)
class Function:
    """A function and the module whose names its body uses."""

    node: cst.FunctionDef
    module: Module


@dataclass
class Program:
    """The files read so far, by name. Without `resolve` imports lead nowhere."""

    resolve: Resolver | None = None
    _modules: dict[tuple[str, str], Module | None] = field(default_factory=dict)

    def parse(self, source: str, file: str) -> Module:
        """Parse a text. Raises UsageError if it is not Python."""
        text = source.removeprefix("\ufeff")
        try:
            with warnings.catch_warnings(action="ignore"):  # An odd escape is the business of its author.
                ast.parse(text)  # Refuses deep nesting, on which LibCST's parser overflows the stack (measured).
            tree = cst.parse_module(text)
        except SyntaxError as error:
            line = f", line {error.lineno}," if error.lineno is not None else ""
            raise UsageError(f"{file}{line} is not valid Python: {error.msg}.") from error
        except cst.ParserSyntaxError as error:
            raise UsageError(f"{file}, line {error.raw_line}, is not valid Python: {error.message}.") from error
        except ValueError as error:
            raise UsageError(f"{file} is not valid Python: {error}.") from error
        positions = MetadataWrapper(tree, unsafe_skip_copy=True).resolve(PositionProvider)
        nodes = scoped_nodes(tree)
        return Module(tree, nodes, file, read_names(tree, nodes), positions)

    def imported(self, importer: Module, module: str, name: str) -> Function | None:
        """The function `name` of an imported module, following its own re-exports; None if it is not found."""
        for _ in range(8):  # Longer chains of re-exports, or circles, are given up.
            found = self._load(importer, module)
            if found is None:
                return None
            if (node := found.names.functions.get(name)) is not None:
                return Function(node, found)
            origin = found.names.origin(cst.Name(name))
            if origin is None:
                return None
            importer, (module, name) = found, origin
        return None

    def _load(self, importer: Module, module: str) -> Module | None:
        key = (importer.file, module)
        if key not in self._modules:
            found = self.resolve(importer.file, module) if self.resolve is not None else None
            try:
                self._modules[key] = self.parse(*found) if found is not None else None
            except UsageError:  # A broken neighbour leaves its functions unresolved.
                self._modules[key] = None
        return self._modules[key]


@contextmanager
def too_deep(file: str) -> Iterator[None]:
    """Turn an exhausted stack into the sentence that says what to do about it."""
    try:
        yield
    except (RecursionError, MemoryError) as error:
        raise UsageError(f"{file} nests its expressions too deeply to be read; split them up.") from error
