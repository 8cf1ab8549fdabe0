"""TileGym's operators on several residual streams, with what PyTorch gives for them in double precision."""

import torch

from tilegym_references import TF32_EPSILON, Check, values


def mhc_gemm(shape, dtype, streams, **options):
    """`shape` is (M, N, K). x @ w over the root mean square of x, with a factor and an activation for each part."""
    (m, n, k), sizes = shape, [streams, streams, shape[1] - 2 * streams]
    x, w, bias = values(m, k, dtype=dtype), values(k, n, dtype=dtype), values(n, dtype=dtype)
    root = x.double().square().mean(-1, keepdim=True).sqrt()
    parts = [torch.full((size,), factor) for size, factor in zip(sizes, (0.1, 0.2, 0.3), strict=True)]
    linear = x.double() @ w.double() * torch.cat(parts) / root + bias.double()
    before, after, rest = linear.split(sizes, -1)
    expected = (torch.cat([before.sigmoid(), 2 * after.sigmoid(), rest], -1), root)
    operator, epsilon = "experimental.mhc:mhc_gemm_rms_scale", max(TF32_EPSILON, torch.finfo(dtype).eps)
    return Check(operator, (x, w, streams, 0.1, 0.2, 0.3, bias), expected, options, epsilon=epsilon)


def mhc_residual(shape, dtype, streams, **more):
    """`shape` is (batch, width)."""
    batch, width = shape
    x, out = values(batch, streams * width, dtype=dtype), values(batch, width, dtype=dtype)
    y = values(batch, 2 * streams + streams**2, dtype=dtype)
    mixed = y.double()[:, 2 * streams :].view(batch, streams, streams) @ x.double().view(batch, streams, width)
    expected = mixed + y.double()[:, streams : 2 * streams, None] * out.double()[:, None]
    arguments = (x, out, y, streams)
    return Check("experimental.mhc:mhc_apply_residual", arguments, expected.flatten(1), units=2, **more)


def mhc_sinkhorn(shape, dtype):
    """`shape` is (batch, streams)."""
    batch, streams = shape
    y = values(batch, 2 * streams + streams**2, dtype=dtype)
    matrix = y.double()[:, 2 * streams :].view(batch, streams, streams).exp()
    for _ in range(20):
        matrix = matrix / matrix.sum(2, keepdim=True)
        matrix = matrix / matrix.sum(1, keepdim=True)
    expected = torch.cat([y.double()[:, : 2 * streams], matrix.flatten(1)], -1)
    return Check("experimental.mhc:mhc_sinkhorn", (y, streams), expected)
