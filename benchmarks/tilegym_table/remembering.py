"""Where answers are kept: one folder for each state of what decides them, so that nothing old is taken for new."""

import hashlib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import kdiag
from kdiag.diagnose.compiler.cache import cache_folder

HERE = Path(__file__).parent
# Under the package: what captures, compiles and emulates. Edits are not among it, since their texts are.
DECIDES = ("cutile", "diagnose/capture", "diagnose/compiler", "executors/emulator", "records")
PACKAGES = ("cuda-tile", "torch", "numpy", "ml-dtypes")


def folder_for(checkout: Path) -> Path:
    """The folder for a checkout of TileGym in its present state; it is made."""
    digest = hashlib.sha256(str([(name, version(name)) for name in PACKAGES]).encode())
    for path in _files(checkout):
        digest.update(path.read_bytes())
    base = cache_folder() or Path("build")
    folder = base.parent / "tilegym" / digest.hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _files(checkout: Path) -> Iterator[Path]:
    package = Path(kdiag.__file__).parent
    for name in DECIDES:
        yield from sorted((package / name).rglob("*.py"))
    yield from sorted(package.glob("*.py"))
    yield from sorted((HERE.parents[1] / "tests").glob("tilegym_*.py"))
    yield from (HERE / f"{name}.py" for name in ("loading", "compiling", "emulating", "records"))
    tilegym = checkout / "src" / "tilegym"
    yield from sorted(path for path in tilegym.rglob("*.py") if "suites" not in path.parts)
