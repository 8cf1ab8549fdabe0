"""The examples of D."""

from ..base import Example

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
GUARDS = """        a_tile_operand = ct.astype(a_tile, ct.tfloat32) if a_tile.dtype == ct.float32 else a_tile
        b_tile_operand = ct.astype(b_tile, ct.tfloat32) if b_tile.dtype == ct.float32 else b_tile
"""


def _kernel(body: str) -> str:
    return HEAD + body + TAIL


def _refused(name: str, body: str, reason: str) -> Example:
    return Example(name, "matmul_kernel", "tf32", _kernel(body), refused=reason)


EXAMPLES: tuple[Example, ...] = (
    Example(
        "the operands are loaded tiles",
        "matmul_kernel",
        "tf32",
        _kernel(LOADS + "        accumulator = ct.mma(a_tile, b_tile, accumulator)\n"),
        _kernel(LOADS + GUARDS + "        accumulator = ct.mma(a_tile_operand, b_tile_operand, accumulator)\n"),
    ),
    Example(
        "the accumulator is a keyword and comments stay",
        "matmul_kernel",
        "tf32",
        _kernel(
            LOADS
            + "\n        # one step of k\n"
            + "        accumulator = ct.mma(a_tile, b_tile, acc=accumulator)  # float32\n"
        ),
        _kernel(
            LOADS
            + "\n        # one step of k\n"
            + GUARDS
            + "        accumulator = ct.mma(a_tile_operand, b_tile_operand, acc=accumulator)  # float32\n"
        ),
    ),
    Example(
        "operands that are expressions are bound to names first",
        "matmul_kernel",
        "tf32",
        _kernel(
            LOADS.splitlines(keepends=True)[0]
            + "        accumulator = ct.mma(a_tile, ct.load(b, (k, column), (TK, TN)), accumulator)\n"
        ),
        _kernel(
            LOADS.splitlines(keepends=True)[0]
            + GUARDS.splitlines(keepends=True)[0]
            + "        right = ct.load(b, (k, column), (TK, TN))\n"
            + "        right_operand = ct.astype(right, ct.tfloat32) if right.dtype == ct.float32 else right\n"
            + "        accumulator = ct.mma(a_tile_operand, right_operand, accumulator)\n"
        ),
    ),
    Example(
        "two products share an operand",
        "matmul_kernel",
        "tf32",
        _kernel(
            LOADS
            + "        accumulator = ct.mma(a_tile, b_tile, accumulator)\n"
            + "        accumulator = ct.mma(a_tile, ct.astype(b_tile, ct.float32), accumulator)\n"
        ),
        _kernel(
            LOADS
            + GUARDS
            + "        accumulator = ct.mma(a_tile_operand, b_tile_operand, accumulator)\n"
            + "        a_tile_operand_2 = ct.astype(a_tile, ct.tfloat32) if a_tile.dtype == ct.float32 else a_tile\n"
            + "        right = ct.astype(b_tile, ct.float32)\n"
            + "        right_operand = ct.astype(right, ct.tfloat32) if right.dtype == ct.float32 else right\n"
            + "        accumulator = ct.mma(a_tile_operand_2, right_operand, accumulator)\n"
        ),
    ),
    _refused(
        "the edit's own result is left alone",
        LOADS + GUARDS + "        accumulator = ct.mma(a_tile_operand, b_tile_operand, accumulator)\n",
        "already cast to tfloat32",
    ),
    _refused(
        "a guard written as a statement",
        LOADS
        + "        if a_tile.dtype == ct.float32:\n"
        + "            a_tile, b_tile = ct.astype(a_tile, ct.tfloat32), ct.astype(b_tile, ct.tfloat32)\n"
        + "        accumulator = ct.mma(a_tile, b_tile, accumulator)\n",
        "already cast to tfloat32",
    ),
    _refused(
        "a guarded dtype",
        "        dtype = ct.tfloat32 if a.dtype == ct.float32 else a.dtype\n"
        "        a_tile = ct.load(a, (row, k), (TM, TK)).astype(dtype)\n"
        "        b_tile = ct.load(b, (k, column), (TK, TN)).astype(dtype)\n"
        "        accumulator = ct.mma(a_tile, b_tile, accumulator)\n",
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
