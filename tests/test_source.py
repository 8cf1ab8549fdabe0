"""Facts about cuTile source."""

import ast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bundled import EXAMPLES
from kdiag.diagnose.source.observe import from_source
from kdiag.diagnose.source.read import SourceFacts, read_source
from kdiag.errors import UsageError
from source_kernels import kernel

FILES = sorted(EXAMPLES.glob("*/*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_examples_are_read(path):
    text = path.read_text("utf-8")
    facts = read_source(text, path.name)
    defined = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef) and n.decorator_list]
    assert [(k.name, k.where.line, k.where.column) for k in facts.kernels] == [
        (n.name, n.lineno, n.col_offset) for n in defined
    ]


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (
            "softmax/softmax",
            {"exact_divisions": 1, "exponentials": 1, "gathers": 1, "gathers_contiguous": 1, "scatters": 1},
        ),
        ("rms_norm/rms_norm", {"exact_divisions": 1, "gathers": 2, "gathers_contiguous": 2, "scatters": 1}),
        ("matmul_bf16/matmul", {"loads": 2, "loads_in_loops": 2, "stores": 1, "mma": 1}),
    ],
)
def test_counts_of_examples(file, expected):
    path = EXAMPLES / f"{file}.py"
    observed = from_source(read_source(path.read_text("utf-8"), "k.py"), f"{path.stem}_kernel")
    assert {key.removeprefix("source."): seen.value for key, seen in observed.items() if seen.value} == expected


@pytest.mark.parametrize(
    ("imports", "prefix"),
    [
        ("import cuda.tile as ct", "ct."),
        ("import cuda.tile", "cuda.tile."),
        ("from cuda import tile as ct", "ct."),
        ("from cuda.tile import load, store, bid, kernel, Constant", ""),
        ("from cuda.tile import load as load, store, bid, kernel, Constant", ""),
        ("import cuda.tile as tile", "tile."),
    ],
)
def test_every_way_to_import(imports, prefix):
    text = (
        f"{imports}\n@{prefix}kernel(occupancy=2, num_ctas=N)\ndef k(x, y, TILE: {prefix}Constant[int]):\n"
        f"    v = {prefix}load(x, ({prefix}bid(0),), (TILE,), latency=4, allow_tma=False)\n"
        f"    {prefix}store(y, ({prefix}bid(0),), v)\n"
    )
    (found,) = read_source(text, "k.py").kernels
    assert found.hints == {"occupancy": "2", "num_ctas": "N"}
    assert found.constants == ("TILE",)
    load, store = found.accesses
    assert (load.kind, load.array, load.latency, load.allow_tma, load.padding) == ("load", "x", "4", "False", None)
    assert (load.where.line, load.where.column) == (4, 8)
    assert (store.kind, store.array) == ("store", "y")


def test_other_packages_do_not_count():
    text = "import triton as ct\n@ct.kernel\ndef k(x):\n    ct.load(x, 0, 1)\n"
    assert read_source(text, "k.py") == SourceFacts(())


def test_constants_under_any_alias():
    before = "Const = ct.Constant\nSize = Const[int]\nfrom typing import Annotated\n"
    marked = "Annotated[int, ct.ConstantAnnotation()]"
    found = kernel(
        "pass", parameters=f"x, a: Size, b: ct.Constant, c: {marked}, d: int, *, e: Const[bool]", before=before
    )
    assert found.constants == ("a", "b", "c", "e")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("t / 2.0", [("/", True)]),
        ("t /= n", [("/", True)]),
        ("n / 2", []),
        ("t.shape[0] / 2", []),
        ("t.item() / n", []),
        ("t // 2", []),
        ("ct.truediv(t, t)", [("truediv", True)]),
        ("ct.truediv(t, t, rounding_mode=ct.RoundingMode.APPROX)", [("truediv", False)]),
        ("ct.truediv(t, t, rounding_mode=ct.RoundingMode.FULL)", [("truediv", False)]),
        ("ct.exp(t, rounding_mode=ct.RoundingMode.FULL)", [("exp", True)]),
        ("ct.exp2(t)", [("exp2", True)]),
        ("t / t / t", [("/", True), ("/", True)]),
    ],
)
def test_math(line, expected):
    found = kernel(f"t = ct.load(x, (0,), (TILE,))\n{line}")
    assert [(call.name, call.exact) for call in found.math] == expected


def test_called_functions_count_once_with_what_they_call():
    before = (
        "def inner(t):\n    return ct.exp(t) / 2\n"
        "def outer(a, i):\n    return inner(ct.gather(a, i))\n"
        "def unused(a):\n    ct.load(a, 0, 1)\n"
    )
    found = kernel("ct.scatter(y, 0, outer(x, 0) + outer(x, 1))", before=before)
    assert [access.kind for access in found.accesses] == ["scatter", "gather"]
    assert sorted(call.name for call in found.math) == ["/", "exp"]


PIECES = st.sampled_from(
    [
        "import cuda.tile as ct\n",
        "@ct.kernel\n",
        "def f(x):\n",
        "    x = f(x) / ct.load(x, f)\n",
        "    f(x=x, *x)\n",
        "    for i in range(ct.bid(0), x, 2): x, y = i, x\n",
        "    return lambda: f(*x)\n",
        "class f:\n",
        "f = f[f]\n",
    ]
)


@settings(deadline=None, max_examples=150)
@given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
@example("(" * 5000)
@example("1" + "+1" * 20000)
@example("a\0b")
@example("\ud800")
@example("\ufeffx = '\\d'\n")
def test_any_text_gives_facts_or_a_usage_error(text):
    try:
        facts = read_source(text, "any.py")
    except UsageError:
        return
    assert isinstance(facts, SourceFacts)
