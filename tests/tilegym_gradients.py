"""The gradients of TileGym's operators that have a backward kernel, and PyTorch's own in double precision."""

from dataclasses import replace

from torch.nn import functional

from tilegym_references import Check, gated, gelu_gated, values


def gradients(operator, given, reference, *more, **options):
    """The gradient of each tensor of `given`, after which the arguments `more` follow."""
    exact = [x.double().requires_grad_() for x in given]
    result = reference(*exact)
    gradient = values(*result.shape, dtype=given[0].dtype)
    result.backward(gradient.double())
    arguments = (*(x.requires_grad_() for x in given), *more)
    return Check(operator, arguments, tuple(x.grad for x in exact), gradient=gradient, **options)


def rms_norm(shape, dtype):
    x, weight = values(*shape, dtype=dtype), values(shape[-1], dtype=dtype)
    check = gradients(
        "rms_norm:rms_norm", (x, weight), lambda x, weight: functional.rms_norm(x, shape[-1:], weight, 1e-6), units=4
    )
    x, weight = check.arguments
    return replace(check, arguments=(x, shape[-1:], weight, 1e-6))


def silu_and_mul(shape, dtype):
    x = values(*shape, dtype=dtype)
    return gradients("silu_and_mul:silu_and_mul", (x,), lambda x: gated(*x.chunk(2, -1)), units=2)


def swiglu(shape, dtype):
    pair = (values(*shape, dtype=dtype), values(*shape, dtype=dtype))
    return gradients("swiglu:swiglu", pair, gated, units=2)


def geglu(shape, dtype):
    """TileGym adds the exact density to an approximate distribution, hence the tolerance, for every dtype."""
    x = values(*shape, dtype=dtype)
    return gradients("activation.geglu:geglu", (x,), gelu_gated, -1, "tanh", epsilon=2.0**-7)


def attention(shape, dtype, *, causal=True, **more):
    """`shape` is (batch, query heads, key heads, length, size)."""
    batch, heads, kv_heads, length, size = shape
    q = values(batch, heads, length, size, dtype=dtype)
    k, v = (values(batch, kv_heads, length, size, dtype=dtype) for _ in range(2))

    def reference(q, k, v):
        return functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)

    return gradients("attention:tile_fmha_with_backward", (q, k, v), reference, None, causal, units=4, **more)
