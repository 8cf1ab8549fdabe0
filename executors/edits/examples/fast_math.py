"""The examples of H."""

from ..base import Example


def softmax(exponential: str, quotient: str) -> str:
    """A row softmax with these two expressions."""
    return f"""import cuda.tile as ct


@ct.kernel
def softmax(x, y, TILE: ct.Constant[int]):
    row = ct.bid(0)
    columns = ct.arange(TILE, dtype=ct.int32)
    values = ct.gather(x, (row, columns), check_bounds=True, padding_value=-float("inf"))
    values = ct.astype(values, ct.float32)
    largest = ct.max(values, axis=0, keepdims=True)
    numerator = {exponential}  # at most 1
    denominator = ct.sum(numerator, axis=0, keepdims=True)
    result = {quotient}
    ct.scatter(y, (row, columns), ct.astype(result, y.dtype), check_bounds=True)


def launch(stream, x, y, columns):
    scale = columns / 2
    ct.launch(stream, (x.shape[0], 1, 1), softmax, (x, y, ct.cdiv(columns, 2) * int(scale)))
"""


def elementwise(result: str, cast: str = "ct.float32") -> str:
    """An elementwise kernel over two inputs with this result; `cast` is the dtype it computes in."""
    return f"""import cuda.tile as ct

EPS = 1e-6


@ct.kernel
def elementwise(x, y, z, n: int, T: ct.Constant[int]):
    index = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    a = ct.astype(ct.gather(x, index), {cast})
    b = ct.astype(ct.gather(y, index), {cast})
    result = {result}
    ct.scatter(z, index, ct.astype(result, z.dtype))
"""


def loop(divide: str) -> str:
    """An accumulator carried through a loop, and its division."""
    return f"""import cuda.tile as ct


@ct.kernel
def average(x, y, TM: ct.Constant[int], TN: ct.Constant[int]):
    row = ct.bid(0)
    total = ct.zeros((TM, TN), dtype=ct.float32)
    weight = ct.full((TM, 1), 0.0, dtype=ct.float32)
    for k in range(ct.num_tiles(x, axis=1, shape=(TM, TN))):
        tile = ct.load(x, (row, k), (TM, TN))
        weight = weight + ct.sum(ct.astype(tile, ct.float32), axis=1, keepdims=True)
        total = total + ct.astype(tile, ct.float32)
    {divide}
    ct.store(y, (row, 0), ct.astype(total, y.dtype))
"""


def helper(body: str, calls: str = "", copy: str = "") -> str:
    """A kernel that calls a private function, with a copy of that where another kernel calls it as well."""
    other = """

@ct.kernel
def other(x, T: ct.Constant[int]):
    ct.store(x, (ct.bid(0),), _sigmoid(ct.load(x, (ct.bid(0),), (T,))))
"""
    return f"""import cuda.tile as ct
import torch


def _sigmoid(x):
    return {body}

{copy}
@ct.kernel
def silu(x, y, T: ct.Constant[int]):
    tile = ct.load(x, (ct.bid(0),), (T,)).astype(torch.float32)
    ct.store(y, (ct.bid(0),), ct.astype(tile * {calls or "_sigmoid"}(tile), y.dtype))
{other if copy or calls == "_sigmoid" else ""}"""


APPROX = "rounding_mode=ct.RoundingMode.APPROX, flush_to_zero=True"
LOG2_E = "1.4426950408889634"
ROOT = "ct.rsqrt({}, flush_to_zero=True)"
EXP = "ct.exp(values - largest)"
EXP2 = f"ct.exp2((values - largest) * {LOG2_E}, flush_to_zero=True)"
FOLDED = f"ct.exp2(values * {LOG2_E} - largest * {LOG2_E}, flush_to_zero=True)"
DIVIDE = "numerator / denominator"
FAST_DIVIDE = f"ct.truediv(numerator, denominator, {APPROX})"
SIGMOID = "1 / (1 + ct.exp(-x))"
FAST_SIGMOID = f"ct.truediv(1, 1 + ct.exp2(-x * {LOG2_E}, flush_to_zero=True), {APPROX})"
COPY = f"""
def _sigmoid_fast(x):
    return {FAST_SIGMOID}

"""


def _softmax(name: str, variant: str, after: tuple[str, str], before: tuple[str, str] = (EXP, DIVIDE)) -> Example:
    return Example(name, "softmax", variant, softmax(*before), softmax(*after))


def _elementwise(name: str, variant: str, before: str, after: str, cast: str = "ct.float32") -> Example:
    return Example(name, "elementwise", variant, elementwise(before, cast), elementwise(after, cast))


def _refused(name: str, variant: str, before: str, reason: str) -> Example:
    kernel = before.partition("def ")[2].partition("(")[0]
    return Example(name, kernel, variant, before, refused=reason)


EXAMPLES: tuple[Example, ...] = (
    _softmax("softmax", "all", (EXP2, FAST_DIVIDE)),
    _softmax("softmax, exp alone", "exp2", (EXP2, DIVIDE)),
    _softmax("softmax, division alone", "approx-division", (EXP, FAST_DIVIDE)),
    _softmax("softmax, one division a row", "reciprocal", (EXP, f"numerator * ct.truediv(1.0, denominator, {APPROX})")),
    _elementwise(
        "silu",
        "all",
        "a / (1.0 + ct.exp(-a)) * b",
        f"ct.truediv(a, 1.0 + ct.exp2(-a * {LOG2_E}, flush_to_zero=True), {APPROX}) * b",
    ),
    _elementwise(
        "a root in the divisor", "rsqrt", "a / ct.sqrt(b * b + EPS)", "a * ct.rsqrt(b * b + EPS, flush_to_zero=True)"
    ),
    _elementwise(
        "the reciprocal of a root", "rsqrt", "a * (1 / ct.sqrt(b + EPS))", "a * ct.rsqrt(b + EPS, flush_to_zero=True)"
    ),
    _elementwise(
        "a root and a mean",
        "all",
        "a / ct.sqrt(ct.sum(b * b) / n)",
        f"a * ct.rsqrt(ct.truediv(ct.sum(b * b), n, {APPROX}), flush_to_zero=True)",
    ),
    _elementwise("tanh", "tanh", "ct.tanh(a) * b", "ct.tanh(a, rounding_mode=ct.RoundingMode.APPROX) * b"),
    _elementwise("truediv", "approx-division", "ct.truediv(a, b)", f"ct.truediv(a, b, {APPROX})"),
    Example(
        "a division in place",
        "average",
        "all",
        loop("total /= weight"),
        loop(f"total = ct.truediv(total, weight, {APPROX})"),
    ),
    _elementwise(
        "a tile of unknown dtype",
        "all",
        "1 / ct.exp(a)",
        f"1 / (ct.exp2(a * {LOG2_E}, flush_to_zero=True) if a.dtype == ct.float32 else ct.exp(a))",
        "x.dtype",
    ),
    _elementwise(
        "a quotient of unknown dtype",
        "approx-division",
        "a / b",
        f"ct.truediv(a, b, {APPROX}) if a.dtype == ct.float32 and b.dtype == ct.float32 else a / b",
        "x.dtype",
    ),
    Example("a function of its own", "silu", "all", helper(SIGMOID), helper(FAST_SIGMOID)),
    Example(
        "a function that another kernel calls",
        "silu",
        "all",
        helper(SIGMOID, "_sigmoid"),
        helper(SIGMOID, "_sigmoid_fast", COPY),
    ),
    _softmax("log2(e) in both parts", "exp2-folded", (FOLDED, DIVIDE)),
    _softmax(
        "an approximate exponential",
        "all",
        (EXP2, FAST_DIVIDE),
        ("ct.exp(values - largest, rounding_mode=ct.RoundingMode.APPROX)", FAST_DIVIDE),
    ),
    _elementwise(
        "log2(e) in a number", "exp2-folded", "ct.exp(a * n)", f"ct.exp2(a * (n * {LOG2_E}), flush_to_zero=True)"
    ),
    _elementwise("a root", "rsqrt", "ct.sqrt(a)", f"ct.sqrt(a, {APPROX})"),
    _elementwise("a power", "rsqrt", "a ** -0.5 + ct.rsqrt(b)", f"{ROOT.format('a')} + {ROOT.format('b')}"),
    _elementwise("a number", "reciprocal", "a / (n + 1)", "a * (1.0 / (n + 1))"),
    _refused(
        "a mask of the lowest float32",
        "exp2-folded",
        elementwise("ct.exp(ct.where(b > 0, a, -3.4e38) - b)"),
        "the number in line 11, times log2(e), is beyond float32",
    ),
    _refused(
        "a division that decides",
        "all",
        elementwise("ct.where(a / b > 0.5, a, 0.0)"),
        "the division in line 11 decides the comparison or step in line 11",
    ),
    _refused("bfloat16", "approx-division", elementwise("a / b", "ct.bfloat16"), "cannot tell that `a / b`"),
    _refused("float64", "exp2", elementwise("ct.exp(a)", "ct.float64"), "cannot tell that `ct.exp(a)`"),
    _refused("no tanh", "tanh", elementwise("a * b"), "no tanh"),
    _refused("numbers alone", "approx-division", elementwise("a * (n / 2)"), "no division"),
    _refused("index arithmetic", "all", elementwise("a * (n // 2)"), "no exponential, root or division"),
    _refused("fast already", "all", softmax(EXP2, FAST_DIVIDE), "no exponential, root or division"),
    _refused("a bucket of a quantizer", "all", elementwise("ct.astype(a / b, ct.int8)"), "quantizes in line 11"),
    _refused("a divisor that is no row value", "reciprocal", elementwise("a / b"), "no division by a value of the row"),
)
