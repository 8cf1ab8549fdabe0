"""The examples of D."""

from ..base import Example
from .edited import edited

HEAD = """import cuda.tile as ct


@ct.kernel
def matmul_kernel(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    row, column = ct.bid(0), ct.bid(1)
    accumulator = ct.full((TM, TN), 0.0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
"""
LOADS = """        a_tile = ct.load(a, index=(row, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO)
        b_tile = ct.load(b, index=(k, column), shape=(TK, TN), padding_mode=ct.PaddingMode.ZERO)
"""
TAIL = """    ct.store(c, index=(row, column), tile=ct.astype(accumulator, c.dtype))
"""
A_TILE, B_TILE = LOADS.splitlines(keepends=True)
GUARD = "        {0}_operand = ct.astype({0}, ct.tfloat32) if {0}.dtype == ct.float32 else {0}\n"
GUARDS = GUARD.format("a_tile") + GUARD.format("b_tile")
PRODUCT = "        accumulator = ct.mma(a_tile, b_tile, accumulator)\n"
GUARDED = "        accumulator = ct.mma(a_tile_operand, b_tile_operand, accumulator)\n"
COMMENT = "\n        # one step of k\n"
NAMED = (("accumulator)\n", "acc=accumulator)  # float32\n"),)
MATMUL = HEAD + LOADS + PRODUCT + TAIL


def _applied(name: str, before: str, after: str) -> Example:
    return Example(name, "matmul_kernel", "tf32", HEAD + before + TAIL, HEAD + after + TAIL)


def _refused(name: str, body: str, reason: str) -> Example:
    return Example(name, "matmul_kernel", "tf32", HEAD + body + TAIL, refused=reason)


EXAMPLES: tuple[Example, ...] = (
    _applied("the operands are loaded tiles", LOADS + PRODUCT, LOADS + GUARDS + GUARDED),
    _applied(
        "the accumulator is a keyword and comments stay",
        LOADS + COMMENT + edited(PRODUCT, *NAMED),
        LOADS + COMMENT + GUARDS + edited(GUARDED, *NAMED),
    ),
    _applied(
        "operands that are expressions are bound to names first",
        A_TILE + "        accumulator = ct.mma(a_tile, ct.load(b, (k, column), (TK, TN)), accumulator)\n",
        A_TILE
        + GUARD.format("a_tile")
        + "        right = ct.load(b, (k, column), (TK, TN))\n"
        + GUARD.format("right")
        + "        accumulator = ct.mma(a_tile_operand, right_operand, accumulator)\n",
    ),
    _applied(
        "two products share an operand",
        LOADS + PRODUCT + "        accumulator = ct.mma(a_tile, ct.astype(b_tile, ct.float32), accumulator)\n",
        LOADS
        + GUARDS
        + GUARDED
        + GUARD.format("a_tile").replace("operand", "operand_2")
        + "        right = ct.astype(b_tile, ct.float32)\n"
        + GUARD.format("right")
        + "        accumulator = ct.mma(a_tile_operand_2, right_operand, accumulator)\n",
    ),
    _refused("the edit's own result is left alone", LOADS + GUARDS + GUARDED, "already cast to tfloat32"),
    _refused(
        "a guard written as a statement",
        LOADS
        + "        if a_tile.dtype == ct.float32:\n"
        + "            a_tile, b_tile = ct.astype(a_tile, ct.tfloat32), ct.astype(b_tile, ct.tfloat32)\n"
        + PRODUCT,
        "already cast to tfloat32",
    ),
    _refused(
        "a guarded dtype",
        "        dtype = ct.tfloat32 if a.dtype == ct.float32 else a.dtype\n"
        "        a_tile = ct.load(a, (row, k), (TM, TK)).astype(dtype)\n"
        "        b_tile = ct.load(b, (k, column), (TK, TN)).astype(dtype)\n" + PRODUCT,
        "already cast to tfloat32",
    ),
    _refused(
        "the operands are bfloat16",
        LOADS
        + "        a_tile = ct.astype(a_tile, ct.bfloat16)\n"
        + "        accumulator = ct.mma(a_tile, ct.transpose(ct.astype(b_tile, ct.bfloat16)), accumulator)\n",
        "are bfloat16, not float32",
    ),
    _refused(
        "a matrix operator rounds its result",
        LOADS + "        accumulator = accumulator + a_tile @ b_tile\n",
        "only ct.mma keeps a float32 accumulator",
    ),
    _refused("no matrix product", LOADS + "        accumulator += ct.sum(a_tile)\n", "no ct.mma"),
    _refused(
        "a product that is not always evaluated",
        LOADS + "        accumulator = ct.mma(a_tile, b_tile, accumulator) if TK > 16 else accumulator\n",
        "not evaluated by a statement",
    ),
)
