"""Where the example kernels lie."""

from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def kernel_file(name):
    """The file with the kernel of an example."""
    return next(path for path in (EXAMPLES / name).glob("*.py") if path.name != "workload.py")
