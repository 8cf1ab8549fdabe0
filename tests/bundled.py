"""Where the example kernels lie, and a checkout of TileGym, where TILEGYM_DIR names one."""

import os
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
TILEGYM = Path(os.environ.get("TILEGYM_DIR") or "/none").resolve()
needs_tilegym = pytest.mark.skipif(not TILEGYM.is_dir(), reason="TILEGYM_DIR names no checkout of TileGym")


def kernel_file(name):
    """The file with the kernel of an example."""
    return next(path for path in (EXAMPLES / name).glob("*.py") if path.name != "workload.py")
