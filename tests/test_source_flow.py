"""Loops, matrix products, swizzles and called functions of a kernel."""

import pytest

from kdiag.errors import UsageError
from source_kernels import kernel, read


@pytest.mark.parametrize(
    ("head", "persistent", "bound", "trips"),
    [
        ("for i in range(8)", False, "static", 8),
        ("for i in range(1, 8, 2)", False, "static", 4),
        ("for i in range(T)", False, "static", None),
        ("for i in range(0, ct.cdiv(T, 4))", False, "static", None),
        ("for i in range(n)", False, "dynamic", None),
        ("for i in range(ct.num_tiles(x, 0, (T,)))", False, "dynamic", None),
        ("for i in range(x.shape[0])", False, "dynamic", None),
        ("for i in range(count(n))", False, "unknown", None),
        ("for i in ct.static_iter(range(n))", False, "static", None),
        ("for i in range(b, n, ct.num_blocks(0))", True, "dynamic", None),
        ("for i in range(b, n, 0)", True, "dynamic", None),
        ("for i in range(b, n, SMS)", True, "dynamic", None),
        ("for i in range(b, n, blocks)", True, "dynamic", None),
        ("for i in range(b * 4, b * 4 + 4, T)", False, "dynamic", None),
        ("for i in range(b, b + 4, 2)", False, "dynamic", None),
        ("while b < n", False, "dynamic", None),
        ("while True", False, "unknown", None),
    ],
)
def test_loops(head, persistent, bound, trips):
    (loop,) = kernel(
        f"b, blocks = ct.bid(0), ct.num_blocks(0)\n{head}:\n    pass", before="from elsewhere import count"
    ).loops
    assert (loop.persistent, loop.bound, loop.trips) == (persistent, bound, trips)


@pytest.mark.parametrize(
    ("step", "persistent"),
    [("b += ct.num_blocks(0)", True), ("b = b + ct.num_blocks(0)", True), ("b += T", True), ("b += 1", False)],
)
def test_a_while_loop_over_work_items_is_persistent(step, persistent):
    (loop,) = kernel(f"b = ct.bid(0)\nwhile b < n:\n    ct.load(x, (b,), (T,))\n    {step}").loops
    assert loop.persistent is persistent


def test_depth_counts_the_loops_of_the_callers():
    before = "def inner():\n    for j in range(4):\n        ct.load(x, (j,), (4,))\n"
    found = kernel("for i in range(n):\n    inner()", before=before)
    assert [(loop.range, loop.depth) for loop in found.loops] == [("range(n)", 0), ("range(4)", 1)]
    assert found.accesses[0].loops == (found.loops[0].where, found.loops[1].where)


@pytest.mark.parametrize(
    ("operand", "dtype"),
    [
        ("ct.load(x, (0,), (T,))", "x.dtype"),
        ("ct.load(x, (0,), (T,)).astype(ct.float32)", "float32"),
        ("ct.astype(ct.load(x, (0,), (T,)), ct.tfloat32)", "tfloat32"),
        ("ct.full((T,), 0, dtype=ct.float32) * 2.0", "float32"),
        ("ct.zeros((T,), ct.float32) * n", "float32"),
        ("ct.zeros((T,), ct.bfloat16) * 2", "bfloat16"),
        ("ct.zeros((T,), ct.bfloat16) * n", None),
        ("ct.zeros((T,), ct.bfloat16) + ct.zeros((T,), ct.float32)", None),
        ("ct.transpose(ct.load(y, (0,), (T,)))[None, :]", "y.dtype"),
        ("ct.load(x.slice(0, 0, n), (0,), (T,))", "x.dtype"),
        ("ct.load(x, (0,), (T,)).astype(y.dtype)", "y.dtype"),
        ("ct.load(x, (0,), (T,)).astype(ct.float32 if n else x.dtype)", None),
        ("elsewhere(x)", None),
        ("narrow(ct.load(x, (0,), (T,)))", "bfloat16"),
        ("ct.where(n > 0, ct.zeros((T,), ct.float32), 0.0)", "float32"),
    ],
)
def test_the_type_of_an_operand(operand, dtype):
    before = "from elsewhere import elsewhere\ndef narrow(t):\n    return ct.exp(t).astype(ct.bfloat16)\n"
    (product,) = kernel(f"a = {operand}\nct.mma(a, a, ct.zeros((T,), ct.float32))", before=before).mma
    assert (product.x, product.y, product.x_dtype, product.y_dtype) == ("a", "a", dtype, dtype)
    assert (product.accumulator, product.accumulator_dtype) == ("ct.zeros((T,), ct.float32)", "float32")


def test_the_type_is_that_at_the_product():
    body = "a = ct.load(x, (0,), (T,))\na = a.astype(ct.float32)\nfor i in range(n):\n    acc = ct.matmul(a, a)\n    {}"
    (product,) = kernel(body.format("pass")).mma
    assert (product.x_dtype, product.accumulator) == ("float32", None)
    (product,) = kernel(body.format("a = a.astype(ct.float16)")).mma
    assert product.x_dtype is None


def test_products_of_the_operator_and_with_scales():
    first, second = kernel("a = ct.load(x, (0,), (T,))\na @ a\nct.mma_scaled(a, n, a, n, acc=a)").mma
    assert (first.name, first.x, first.y, first.accumulator) == ("@", "a", "a", None)
    assert (second.name, second.x, second.y, second.accumulator) == ("mma_scaled", "a", "a", "a")


SWIZZLE = """
def place(tile, m, group):
    width = group * 4
    first = tile // width * group
    size = {clamp}
    return first + tile % width % size, tile % width // size
"""


@pytest.mark.parametrize(
    ("clamp", "found"), [("min(m - first, group)", 1), ("ct.minimum(m - first, group)", 1), ("4", 0)]
)
@pytest.mark.parametrize("body", ["place(ct.bid(0), n, 8)", "for t in range(ct.bid(0), n, 4):\n    place(t, n, 8)"])
def test_swizzles(clamp, found, body):
    assert len(kernel(body, before=SWIZZLE.format(clamp=clamp)).swizzles) == found


def test_a_clamped_bound_is_no_swizzle():
    assert not kernel("i = min(ct.bid(0) * T, n)\nj = i // T\nct.load(x, (j,), (T,))").swizzles


NEIGHBOUR = "import cuda.tile as ct\nfrom .deep import deeper\ndef far(t):\n    return deeper(ct.exp(t))\n"
DEEP = "import cuda.tile as ct\ndef deeper(t):\n    return ct.gather(t, 0)\n"


def test_called_functions_are_named_and_followed_where_they_are_found():
    text = (
        "from .near import far\nfrom . import other\nimport third.party as third\nimport math\n"
        "def own(t): return abs(t) + math.sqrt(4)\n"
        "@ct.kernel\ndef k(x, f: ct.Constant):\n    own(far(x))\n    other.lost(x)\n    third.gone(x)\n    f(x)\n"
    )
    files = {".near": (NEIGHBOUR, "near.py"), ".deep": (DEEP, "deep.py"), ".": ("", "__init__.py")}
    (found,) = read(text, lambda _importer, module: files.get(module)).kernels
    assert [(helper.name, helper.module, helper.resolved) for helper in found.helpers] == [
        ("far", ".near", True),
        ("deeper", ".deep", True),
        ("own", "", True),
        ("other.lost", ".other", False),
        ("third.gone", "third.party", False),
        ("f", "", False),
    ]
    assert [(access.kind, access.where.file) for access in found.accesses] == [("gather", "deep.py")]
    (alone,) = read(text).kernels
    assert [helper.name for helper in alone.unresolved] == ["far", "other.lost", "third.gone", "f"]
    assert alone.accesses == ()


def test_a_broken_neighbour_and_circles_of_imports_leave_a_function_unresolved():
    text = "from .a import f\n@ct.kernel\ndef k(x):\n    f(x)\n"
    for source in ("def f(:", "from .a import f\n", "x = 1\n"):
        (found,) = read(text, lambda _importer, _module, source=source: (source, "a.py")).kernels
        assert [helper.name for helper in found.unresolved] == ["f"]


def test_values_at_the_top_of_a_file_may_run_in_circles():
    found = kernel("ct.load(x, (A,), (T,))", before="A = B\nB = A + 1\nC = [C for C in D]\n")
    assert found.accesses[0].form == "tile-index"


def test_loops_that_take_too_long_to_follow_end_in_one_sentence(monkeypatch):
    monkeypatch.setattr("kdiag.diagnose.source.flow.MAX_STATEMENTS", 9)
    with pytest.raises(UsageError, match=r"k\.py nests the loops around k"):
        kernel("for i in range(n):\n    for j in range(n):\n        x = x + i * j\n" * 4)
