"""What TileGym's operators should give: small arguments, and the result that PyTorch gives in double precision."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn import functional

BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32
Tensor = torch.Tensor
TF32_EPSILON = 2.0**-10


@dataclass(frozen=True)
class Check:
    """A call of an operator and what it should give.

    `units` is the largest error allowed, in units of `epsilon` (None: that of a result's dtype) of the largest element
    of the result. `faults` are the kinds of fault that the operator's own kernels have at these arguments. With `gradient`,
    that of the result, `expected` are the gradients of the arguments that require one. Not `compared` is a result that a
    fault decides. Not `tuned` is a call for which TileGym is told not to tune.
    """

    operator: str
    arguments: tuple[Any, ...]
    expected: Any
    options: dict[str, Any] = field(default_factory=dict)
    units: float = 1.0
    epsilon: float | None = None
    target: str = "sm_90"
    gradient: Tensor | None = None
    compared: bool = True
    tuned: bool = True
    faults: frozenset[str] = frozenset()


def values(*shape, dtype=FP32):
    return torch.randn(shape).to(dtype)


def softmax(shape, dtype, **options):
    x = values(*shape, dtype=dtype)
    return Check("softmax:softmax", (x,), torch.softmax(x.double(), -1), options)


def rms_norm(shape, dtype, mode, offset=0.0):
    x, weight = values(*shape, dtype=dtype), values(shape[-1], dtype=dtype)
    expected = functional.rms_norm(x.double(), shape[-1:], weight.double() + offset, 1e-6)
    return Check("rms_norm:rms_norm", (x, shape[-1:], weight, 1e-6), expected, {"mode": mode, "offset": offset})


def layer_norm(shape, dtype):
    x, weight, bias = (values(*shape, dtype=dtype), values(shape[-1], dtype=dtype), values(shape[-1], dtype=dtype))
    expected = functional.layer_norm(x.double(), shape[-1:], weight.double(), bias.double(), 1e-5)
    return Check("layer_norm_legacy:layer_norm_legacy", (x, shape[-1:], weight, bias, 1e-5), expected, units=2)


def persistent_layer_norm(shape, dtype):
    """Its result is bfloat16 whatever it is given."""
    check = layer_norm(shape, dtype)
    operator = "layer_norm_legacy:persistent_layer_norm"
    return Check(operator, check.arguments, (check.expected,), epsilon=2.0**-7)


def gated(gate, up):
    return functional.silu(gate) * up


def gelu_gated(x):
    left, right = x.chunk(2, -1)
    return left * functional.gelu(right, approximate="tanh")


def silu_and_mul(shape, dtype):
    x = values(*shape, dtype=dtype)
    return Check("silu_and_mul:silu_and_mul", (x,), gated(*x.double().chunk(2, -1)), units=2)


def swiglu(shape, dtype):
    gate, up = values(*shape, dtype=dtype), values(*shape, dtype=dtype)
    return Check("swiglu:swiglu", (gate, up), gated(gate.double(), up.double()), units=2)


def geglu(shape, dtype, approximate):
    """TileGym approximates the error function by the hyperbolic tangent even where it is not asked to."""
    x = values(*shape, dtype=dtype)
    return Check("activation.geglu:geglu", (x,), gelu_gated(x.double()), {"approximate": approximate}, units=2)


def gelu(shape, dtype, approximate):
    """As `geglu`: the hyperbolic tangent in both cases."""
    x = values(*shape, dtype=dtype)
    expected = functional.gelu(x.double(), approximate="tanh")
    return Check("activation.gelu:gelu", (x,), expected, {"approximate": approximate}, units=2)


def relu(shape, dtype):
    x = values(*shape, dtype=dtype)
    return Check("activation.relu:relu", (x,), functional.relu(x.double()), units=0)


def rope(shape, dtype, kv_heads, partial=1.0, batches=1):
    """`shape` is (batch, heads, length, size); the first `partial` of each head is rotated."""
    batch, _, length, size = shape
    rotated = int(size * partial)
    q, k = values(*shape, dtype=dtype), values(batch, kv_heads, length, size, dtype=dtype)
    angles = torch.randn(batches, length, rotated // 2).repeat(1, 1, 2)
    cos, sin = angles.cos().to(dtype), angles.sin().to(dtype)
    expected = tuple(_rotated(x.double(), cos.double()[:, None], sin.double()[:, None]) for x in (q, k))
    options = {"partial_rotary_factor": partial}
    return Check("rope:apply_rope_base", (q, k, cos, sin), expected, options, units=2)


def _rotated(x, cos, sin):
    turned, rest = x.split([cos.shape[-1], x.shape[-1] - cos.shape[-1]], -1)
    low, high = turned.chunk(2, -1)
    return torch.cat([turned * cos + torch.cat([-high, low], -1) * sin, rest], -1)


def _operands(left, right, dtype, transposed):
    """Two operands and their product; those in `transposed` lie in memory the other way round."""
    a, b = values(*left, dtype=dtype), values(*right, dtype=dtype)
    given = (x.mT.contiguous() if name in transposed else x for name, x in (("a", a), ("b", b)))
    return *given, a.double() @ b.double()


def matmul(shape, dtype, *, transposed="", persistent=False):
    """`shape` is (M, N, K). float32 is multiplied as tfloat32."""
    m, n, k = shape
    a, b, expected = _operands((m, k), (k, n), dtype, transposed)
    options = {"trans_a": "a" in transposed, "trans_b": "b" in transposed, "static_persistent": persistent}
    return Check("matmul:matmul", (a, b), expected, options, epsilon=TF32_EPSILON if dtype == FP32 else None)


def bmm(shape, dtype, *, transposed="", persistent=True):
    """`shape` is (batch, M, N, K)."""
    batch, m, n, k = shape
    a, b, expected = _operands((batch, m, k), (batch, k, n), dtype, transposed)
    options = {"transpose_a": "a" in transposed, "transpose_b": "b" in transposed}
    return Check("bmm:bmm", (a, b), expected, options | {"static_persistent": persistent}, units=2)


def group_gemm(shapes, dtype, *, transposed=False):
    """`shapes` are (M, N, K) of each product."""
    left = [values(m, k, dtype=dtype) for m, _, k in shapes]
    right = [values(k, n, dtype=dtype) for _, n, k in shapes]
    expected = [a.double() @ b.double() for a, b in zip(left, right, strict=True)]
    if transposed:
        right = [b.mT.contiguous() for b in right]
    return Check("group_gemm:group_gemm", (left, right), expected, {"transpose_b": transposed})


def dropout(shape, dtype, probability):
    """TileGym's own hash of the position decides what is kept; 32-bit arithmetic wraps in it."""
    x = values(*shape, dtype=dtype)
    mixed = 7 * 2654435761
    state = _wrapped(torch.arange(x.numel()) * 1103515245 + mixed)
    state = state ^ (state >> 16)
    state = state ^ _wrapped(state << 8)
    state = state ^ (state >> 4)
    kept = (state & 0x7FFFFFFF).float() / 2147483647.0 > probability
    expected = torch.where(kept.view(shape), x.double() / (1 - probability), 0.0)
    return Check("dropout:dropout", (x, 7, probability), expected)


def _wrapped(x):
    return ((x + 2**31) % 2**32) - 2**31


def splitk_reduce(shape, dtype):
    """`shape` is (batch, heads, splits, size); the sums are in powers of two."""
    parts, sums = values(*shape, dtype=dtype), values(*shape[:3])
    weights = torch.softmax(sums.double() * math.log(2), -1)
    expected = (parts.double() * weights[..., None]).sum(2)
    given = torch.full((*shape[:2], shape[3]), math.nan, dtype=dtype)
    return Check("splitk_reduce:splitk_reduce", (parts, sums, given, 1024), expected, units=2)


def cross_entropy(shape, dtype, **options):
    """`shape` is (rows, width, vocabulary); every third row is ignored. The logits are rounded to `dtype`."""
    rows, width, vocabulary = shape
    x, weight = values(rows, width, dtype=dtype), values(vocabulary, width, dtype=dtype)
    target = torch.randint(vocabulary, (rows,))
    target[::3] = -100
    expected = functional.cross_entropy(x.double() @ weight.double().mT, target)
    operator = "experimental.fused_linear_cross_entropy:fused_linear_cross_entropy"
    return Check(operator, (x, weight, target), expected, options, epsilon=torch.finfo(dtype).eps)


def nvfp4(shape, dtype):
    """Blocks of 16 elements that hold only values of the format, so that each has scale 1 and none is rounded."""
    steps = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
    codes = torch.randint(16, shape)
    codes[..., ::16] = 7
    x = (steps[codes & 7] * (1 - (codes >> 3) * 2)).to(dtype)
    packed = codes[..., ::2] | codes[..., 1::2] << 4
    operator = "experimental.nvfp4_quantize:tile_nvfp4_quantize"
    return Check(operator, (x,), (packed, _swizzled_ones(shape)), epsilon=0.0, target="sm_100")


def _swizzled_ones(shape):
    """The scale 1 in float8_e4m3fn for each block, as tiles of 128 rows by 4 blocks in cuBLAS's order."""
    rows, blocks = -(-shape[0] // 128) * 128, -(-shape[1] // 64) * 4
    scales = torch.zeros(rows, blocks, dtype=torch.int64)
    scales[: shape[0], : shape[1] // 16] = 0x38
    tiles = scales.view(rows // 128, 4, 32, blocks // 4, 4)
    return tiles.permute(0, 3, 2, 1, 4).reshape(-1)


Build = Callable[..., Check]
