"""What a gather and a load put where the array ends: a value, and a mode that names one of five values."""

from __future__ import annotations

import libcst as cst

from kdiag.executors.edits.kernel_source import KernelSource, text

VALUES = {
    "ZERO": "0",
    "NEG_ZERO": "-0.0",
    "NAN": 'float("nan")',
    "POS_INF": 'float("inf")',
    "NEG_INF": '-float("inf")',
}
_INFINITY = ('float("inf")', "float('inf')", "math.inf", "np.inf", "numpy.inf", "torch.inf")
_MODES = {
    **dict.fromkeys(("0", "0.0", "0.", "False"), "ZERO"),
    **dict.fromkeys(("-0.0", "-0."), "NEG_ZERO"),
    **dict.fromkeys(('float("nan")', "float('nan')", "math.nan", "np.nan", "torch.nan"), "NAN"),
    **dict.fromkeys((*_INFINITY, 'float("+inf")'), "POS_INF"),
    **dict.fromkeys((*(f"-{value}" for value in _INFINITY), 'float("-inf")', "float('-inf')"), "NEG_INF"),
}


def mode_of(value: cst.BaseExpression | None, kernel: KernelSource) -> str | None:
    """The padding mode that pads with a gather's `padding_value` (0 if not given); None if there is none."""
    if value is None:
        return "ZERO"
    written = kernel.constant(value)
    if isinstance(written, cst.UnaryOperation):
        return _MODES.get(f"-{text(written.expression)}")
    return _MODES.get(text(written))


def value_of(mode: cst.BaseExpression | None, kernel: KernelSource) -> str | None:
    """The code of the value that a load's `padding_mode` pads with; 0 for the undetermined one, None if not known."""
    if mode is None:
        return VALUES["ZERO"]
    name = (kernel.operation(kernel.constant(mode)) or "").removeprefix("PaddingMode.")
    return VALUES["ZERO"] if name == "UNDETERMINED" else VALUES.get(name)
