"""A copy of a package in which one file is replaced: how an edited kernel file is imported as the member that it is.

A kernel file of a package has relative imports and registers itself, and the package's other modules import it. So the
whole package is imported anew with the edited file in the original's place. Several copies can live side by side (a
candidate is timed beside its parent): what the functions of a copy import later comes from their own copy.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any


def member_of(file: Path) -> tuple[Path, str]:
    """The folder to search and the dotted name by which a file is imported, its packages included."""
    path = file.resolve()
    parts, folder = [path.stem], path.parent
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


class PackageCopy:
    """A package imported for its own, with the module `name` made of the file `source`, which holds `data`."""

    _active: PackageCopy | None = None  # the copy whose modules are in sys.modules

    def __init__(self, name: str, source: Path, data: bytes) -> None:
        self._name, self._source, self._data = name, source, data
        self._package = name.partition(".")[0]
        self._modules: dict[str, ModuleType] = {}
        self._builtins = {**vars(builtins), "__import__": self._import}

    def load(self) -> ModuleType:
        """Import the replaced module and all it needs; the copy then is what `import` finds."""
        if PackageCopy._active is not None:
            PackageCopy._active._leave()
        self._set_aside()
        self._enter()
        return import_module(self._name)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As a finder on `sys.meta_path`: the package's modules, the replaced one from its own file."""
        if name.partition(".")[0] != self._package:
            return None
        if name == self._name:
            loader = _Edited(name, str(self._source), self._builtins, self._data)
            return spec_from_file_location(name, self._source, loader=loader)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Member(name, spec.loader.path, self._builtins)
        return spec

    def _import(self, name: str, *arguments: Any, **options: Any) -> ModuleType:
        """In the place of `__import__` for the copy's modules."""
        with self._found():
            return __import__(name, *arguments, **options)

    @contextmanager
    def _found(self) -> Iterator[None]:
        """Within this the copy is what `import` finds."""
        other = PackageCopy._active
        if other is self:
            yield
            return
        if other is not None:
            other._leave()
        self._enter()
        try:
            yield
        finally:
            self._leave()
            if other is not None:
                other._enter()

    def _enter(self) -> None:
        sys.modules.update(self._modules)
        sys.meta_path.insert(0, self)
        PackageCopy._active = self

    def _leave(self) -> None:
        sys.meta_path.remove(self)
        self._modules = self._set_aside()
        PackageCopy._active = None

    def _set_aside(self) -> dict[str, ModuleType]:
        """Take the package's modules out of `sys.modules`."""
        names = [name for name in sys.modules if name.partition(".")[0] == self._package]
        return {name: sys.modules.pop(name) for name in names}


class _Member(SourceFileLoader):
    """Loads a module whose import statements are those of its copy."""

    def __init__(self, name: str, path: str, own: Mapping[str, Any]) -> None:
        super().__init__(name, path)
        self._builtins = own

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__builtins__"] = self._builtins
        super().exec_module(module)


class _Edited(_Member):
    """Loads a module from a text that is known already: no older bytecode stands for it."""

    def __init__(self, name: str, path: str, own: Mapping[str, Any], data: bytes) -> None:
        super().__init__(name, path, own)
        self._data = data

    def get_code(self, fullname: str) -> CodeType:
        code: CodeType = self.source_to_code(self._data, self.path)
        return code
