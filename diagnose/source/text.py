"""Finding the text of imported modules on disk, as Python's import would but without running anything."""

from collections.abc import Callable
from pathlib import Path

# (importing file, module as the import writes it, e.g. ".gelu" or "kernels.gelu") -> (text, its file), None if not found.
Resolver = Callable[[str, str], tuple[str, str] | None]


def beside(path: Path) -> Resolver:
    """A resolver for the imports of `path` and of what it imports.

    Relative imports are looked up from the importing file, absolute ones in its folder and the folders above it, so
    that the package a file belongs to is found, and nothing that is merely installed.
    """
    start = path.resolve()

    def resolve(importer: str, module: str) -> tuple[str, str] | None:
        origin = start if importer in (path.name, str(path)) else Path(importer)
        for candidate in _candidates(origin, module):
            for file in (candidate.with_suffix(".py"), candidate / "__init__.py"):
                if file.is_file():
                    return file.read_text("utf-8", errors="replace"), str(file)
        return None

    return resolve


def _candidates(origin: Path, module: str) -> list[Path]:
    name = module.lstrip(".")
    levels = len(module) - len(name)
    parts = [part for part in name.split(".") if part]
    folders = origin.parents[levels - 1 : levels] if levels else origin.parents[:]
    return [folder.joinpath(*parts) for folder in folders]
