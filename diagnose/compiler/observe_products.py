"""Matrix products that miss the tensor cores for their tiles, not for their types: source and compiler together.

tileiras has a tensor-core instruction for every type of these, but takes ordinary multiplications where a tile of the
result is smaller than one m16n8 of `mma.sync` for each of a block's four warps: 16x16 falls back on sm_80, sm_90 and
sm_100, 32x32, 64x8 and 16x64 do not (tileiras 13.4).
"""

from collections.abc import Sequence

from kdiag.records import ArrayArgument, CompileEvidence, Evidence

from ..source.facts import SourceFacts
from .observe_remarks import OFF_TENSOR_CORES

NAME = "compile.mma_in_small_tiles"
TYPES = ("float16", "bfloat16", "tfloat32", "float8", "int8", "uint8")


def from_products(facts: SourceFacts, kernel: str, compiled: Sequence[CompileEvidence]) -> dict[str, Evidence]:
    """How many products of a kernel run as FMA although both operands have a type that tensor cores multiply.

    A product whose types are unknown is not counted.
    """
    products = next((each.mma for each in facts.kernels if each.name == kernel), ())
    arrays = {a.name: a.dtype for each in compiled for a in each.launch.arguments if isinstance(a, ArrayArgument)}
    missed = {r.where.line for each in compiled for r in each.remarks if OFF_TENSOR_CORES.test(r)}
    places = [
        product.where
        for product in products
        if product.where.line in missed
        and all(_multiplied(each, arrays) for each in (product.x_dtype, product.y_dtype))
    ]
    text = "matrix products off the tensor cores though their types are not the reason: their tiles are too small"
    return {NAME: Evidence("remark", NAME, len(places), "", places[0] if places else None, text)}


def _multiplied(dtype: str | None, arrays: dict[str, str]) -> bool:
    """Whether tensor cores multiply this type; `dtype` is a type's name, or "X.dtype" of the array X."""
    array, _, attribute = (dtype or "").partition(".")
    return (arrays.get(array, "") if attribute else array).startswith(TYPES)
