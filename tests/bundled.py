"""Where the example kernels lie."""

from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"
