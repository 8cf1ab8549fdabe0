"""Calls of TileGym's operators that are small enough to be emulated: ragged, single, masked, and what is at fault."""

import os
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import product
from typing import Any
from unittest.mock import patch

import torch

import tilegym_attention as attend
import tilegym_gradients as gradients
import tilegym_references as plain
import tilegym_streams as streams
from tilegym_references import BF16, FP16, FP32, Build

ALL, HALF, ONE = (FP32, FP16, BF16), (FP16, BF16), (BF16,)
ROWS = ((4, 64), (5, 100), (3, 1000))


@dataclass(frozen=True)
class Case:
    """One call: what `build` makes of a shape, a dtype and options; None where it takes no dtype."""

    build: Build
    shape: Any
    dtype: torch.dtype | None
    options: dict[str, Any] = field(default_factory=dict)

    def check(self):
        """The arguments, the same every time, and what is expected."""
        torch.manual_seed(0)
        if self.dtype is None:
            return self.build(self.shape, **self.options)
        return self.build(self.shape, self.dtype, **self.options)

    @property
    def name(self):
        return "-".join(map(str, self._words()))

    def _words(self):
        yield self.build.__name__
        yield str(self.shape).replace(" ", "").replace("),(", "x").strip("()").replace(",", "x")
        yield str(self.dtype).removeprefix("torch.")
        shown = self.options.keys() - {"faults", "compared"}
        yield from (f"{key}={self.options[key]}" for key in self.options if key in shown)


def cases(build, shapes, dtypes, **options):
    """One call for each shape and dtype."""
    return [Case(build, shape, dtype, options) for shape, dtype in product(shapes, dtypes)]


def moe_align(arguments):
    """The number of blocks is not known before: those beyond it have no expert, and nothing reads them."""
    return replace(attend.moe_align(*arguments), faults=frozenset({"unwritten"}))


def called(check):
    """Call the operator; gives its result, the gradients, or the result that it was given to write."""
    module, _, function = check.operator.partition(":")
    operator = getattr(import_module(f"tilegym.ops.cutile.{module}"), function)
    with patch.dict(os.environ, {} if check.tuned else {"TILEGYM_DISABLE_AUTOTUNE": "1"}):
        result = operator(*check.arguments, **check.options)
    if check.gradient is not None:
        result.backward(check.gradient)
        return [x.grad for x in check.arguments if getattr(x, "requires_grad", False)]
    return check.arguments[2] if result is None else result


@dataclass(frozen=True)
class Compared:
    """The largest error of one tensor of a result, the largest allowed, and the largest element expected."""

    error: float
    allowed: float
    scale: float
    dtype: str


def compared(given, expected, check):
    """Every tensor of a result beside what is expected of it."""
    if isinstance(expected, tuple | list):
        for one, other in zip(given, expected, strict=False):
            yield from compared(one, other, check)
    elif expected is not None:
        epsilon = torch.finfo(given.dtype).eps if check.epsilon is None else check.epsilon
        scale = float(expected.abs().max())
        error = float((given.detach().double() - expected.double()).abs().max())
        yield Compared(error, check.units * epsilon * scale, scale, str(given.dtype).removeprefix("torch."))


SOFTMAX = [
    *cases(plain.softmax, ROWS, ALL),
    *cases(plain.softmax, ROWS, ALL, use_tma=True),
    *cases(plain.softmax, ROWS, ALL, use_chunked=True),
    *cases(plain.softmax, ((2, 20000),), ONE, use_chunked=True),
    *cases(plain.softmax, ROWS, ALL, use_multi_wave=True),
]
NORMS = [
    *cases(plain.rms_norm, ROWS, ALL, mode="static_persistent"),
    *cases(plain.rms_norm, ((40, 96),), ONE, mode="static_persistent", offset=1.0),
    *cases(plain.rms_norm, (*ROWS, (2, 3000)), ALL, mode="multi_wave_reload"),
    *cases(plain.rms_norm, ROWS, ALL, mode="multi_wave_cached"),
    *cases(plain.layer_norm, (*ROWS, (2, 9)), ALL),
    *cases(plain.persistent_layer_norm, ((4, 64), (5, 100), (37, 200)), ONE),
]
ELEMENTS = [
    *cases(plain.silu_and_mul, ((4, 128), (5, 200), (2, 3, 2000)), ALL),
    *cases(plain.swiglu, ((4, 64), (5, 100), (2, 3, 1000)), ALL),
    *cases(plain.geglu, ((4, 128), (5, 200)), ALL, approximate="none"),
    *cases(plain.geglu, ((4, 128), (5, 200)), ALL, approximate="tanh"),
    *cases(plain.gelu, ((4, 64), (5, 1000)), ALL, approximate="none"),
    *cases(plain.gelu, ((4, 64), (5, 1000)), ALL, approximate="tanh"),
    *cases(plain.relu, ((4, 64), (5, 1000)), ALL),
    *cases(plain.dropout, ((4, 64), (5, 1000)), ALL, probability=0.5),
]
ROPE = [
    *cases(plain.rope, ((1, 4, 8, 64), (2, 3, 5, 32), (2, 8, 7, 16)), ALL, kv_heads=2),
    *cases(plain.rope, ((2, 4, 5, 64),), ALL, kv_heads=4, partial=0.5, batches=2),
]
PRODUCTS = [
    *cases(plain.matmul, ((128, 128, 64), (130, 70, 50), (300, 150, 100)), ALL),
    *cases(plain.matmul, ((128, 128, 64), (130, 70, 50), (300, 150, 100)), ALL, persistent=True),
    *(
        one
        for t in ("a", "b", "ab")
        for one in cases(plain.matmul, ((130, 70, 50),), ALL, persistent=True, transposed=t)
    ),
    *cases(plain.bmm, ((2, 64, 64, 64), (3, 70, 50, 30), (2, 130, 70, 100)), HALF),
    *(one for t in "ab" for one in cases(plain.bmm, ((2, 70, 50, 30),), HALF, transposed=t)),
    *cases(plain.bmm, ((2, 64, 64, 64), (3, 70, 50, 30)), HALF, persistent=False),
    *cases(plain.group_gemm, (((64, 64, 64), (70, 50, 30), (10, 130, 100)),), HALF),
    *cases(plain.group_gemm, (((64, 64, 64), (70, 50, 30)),), HALF, transposed=True),
]
# A key length that TileGym's tiles do not divide is among the faults below.
HEADS = ((1, 2, 2, 128, 128, 64), (2, 4, 2, 100, 128, 32), (1, 4, 1, 40, 256, 64))
ATTENTION = [
    *cases(attend.attention, HEADS, HALF),
    *cases(attend.attention, HEADS, HALF, causal=False),
    *cases(attend.attention_decode, ((2, 4, 4, 1, 128, 64), (1, 8, 2, 1, 100, 32), (1, 16, 2, 1, 300, 64)), HALF),
    *cases(attend.attention_decode, ((1, 8, 1, 1, 300, 64),), HALF, kv_len_per_split=128),
]
GRADIENTS = [
    *cases(gradients.rms_norm, ((4, 64), (5, 100)), ALL),
    *cases(gradients.silu_and_mul, ((4, 128), (5, 200)), ALL),
    *cases(gradients.swiglu, ((4, 64), (5, 100)), ALL),
    *cases(gradients.geglu, ((4, 128), (5, 200)), ALL),
    *cases(gradients.attention, ((1, 2, 1, 256, 64),), ONE),
    *cases(gradients.attention, ((1, 2, 2, 256, 32),), ONE, causal=False),
]
PADDING, BEYOND = frozenset({"undetermined-padding"}), frozenset({"out-of-bounds"})
SPOILED = {"faults": PADDING, "compared": False}
# Loads without a padding mode meet the end of the keys (or of the depth, for experts): what they pad with is masked or
# multiplied by zero, but cuTile does not say that it is a number, and 0 * NaN is NaN.
FAULTY = [
    *cases(attend.attention, ((1, 2, 1, 100, 100, 32), (1, 4, 1, 40, 300, 64)), ONE, **SPOILED),
    *cases(attend.attention, ((1, 2, 1, 100, 100, 32),), ONE, causal=False, **SPOILED),
    *cases(attend.gemma, ((1, 2, 1, 100, 100, 32), (1, 8, 1, 1, 100, 64)), ONE, **SPOILED),
    *cases(attend.sink_attention, ((1, 2, 1, 100, 100, 64),), ONE, **SPOILED),
    *cases(attend.mla, ((1, 2, 1, 100, 100, 32),), ONE, extra=32, **SPOILED),
    *cases(attend.mla_decoding, ((1, 16, 100, 64, 32),), ONE, split=False, **SPOILED),
    # The rows that pad the queries have a sum as well, which the wrapper cuts away.
    *cases(gradients.attention, ((1, 2, 1, 128, 64),), ONE, faults=PADDING),
    # A split of two tiles, of which the second begins behind the last key.
    *cases(attend.attention_decode, ((1, 8, 1, 1, 300, 64),), ONE, kv_len_per_split=256, faults=BEYOND),
    # The grid has no block for the last part of a tile.
    *cases(streams.mhc_residual, ((2, 1500),), ONE, streams=4, faults=frozenset({"unwritten"}), compared=False),
    *cases(attend.fused_moe, ((20, 4, 2, 32, 50),), ONE, **SPOILED),
]
OTHERS = [
    *cases(plain.splitk_reduce, ((2, 3, 4, 64), (1, 2, 20, 100)), ALL),
    *cases(plain.cross_entropy, ((16, 32, 100), (13, 64, 5000)), ALL),
    *cases(streams.mhc_gemm, ((64, 24, 128), (100, 24, 200)), ALL, streams=4),
    *cases(streams.mhc_residual, ((3, 1024), (2, 2048)), ALL, streams=4),
    *cases(streams.mhc_sinkhorn, ((5, 4), (3, 2)), ALL),
    *cases(plain.nvfp4, ((128, 64), (40, 96)), ALL),
    *cases(attend.gemma, HEADS[:1], HALF, window=50),
    *cases(attend.gemma, HEADS[:1], HALF, cap=5.0),
    *cases(attend.gemma, ((2, 4, 2, 1, 256, 64),), HALF, window=200),
    *cases(attend.gemma, ((2, 8, 1, 1, 128, 64),), HALF, cap=5.0),
    *cases(attend.sink_attention, ((1, 2, 1, 256, 256, 64),), HALF),
    *cases(attend.sink_attention, ((1, 2, 1, 256, 256, 64),), HALF, window=100),
    *cases(attend.sink_attention, ((2, 4, 2, 1, 256, 64), (1, 8, 1, 1, 300, 64)), HALF),
    *cases(attend.sink_attention, ((2, 4, 2, 1, 256, 64),), HALF, window=100),
    *cases(attend.window_attention, ((1, 2, 1, 128, 128, 64), (2, 2, 2, 100, 100, 32)), (FP16,), window=40),
    *cases(attend.mla, ((1, 2, 2, 128, 128, 64), (1, 2, 1, 64, 64, 32)), HALF, extra=32),
    *cases(attend.mla_decoding, ((2, 16, 128, 64, 32),), HALF, split=False),
    *cases(attend.mla_decoding, ((2, 16, 256, 64, 32), (1, 32, 300, 64, 32)), HALF, split=True),
    *cases(attend.sparse_mla, ((1, 16, 1, 20, 128, 64),), HALF, chosen=64),
    *cases(attend.delta_rule, ((1, 64, 2, 32, 32), (2, 100, 2, 32, 64)), ALL, chunked=True),
    *cases(attend.delta_rule, ((1, 20, 2, 32, 32), (2, 1, 2, 32, 64)), ALL, chunked=False),
    *cases(attend.delta_rule, ((1, 20, 2, 32, 32),), ALL, chunked=False, persistent=True),
    *cases(attend.delta_rule, ((2, 1, 2, 32, 64),), ALL, chunked=False, tuned=False),
    *cases(attend.fused_moe, ((20, 4, 2, 32, 64), (33, 4, 2, 80, 64)), ALL),
]
SORTED = [Case(moe_align, shape, None) for shape in (((20, 2), 4, 16), ((50, 3), 8, 8), ((7, 1), 5, 4))]
CASES = [*SOFTMAX, *NORMS, *ELEMENTS, *ROPE, *PRODUCTS, *ATTENTION, *GRADIENTS, *FAULTY, *OTHERS, *SORTED]
