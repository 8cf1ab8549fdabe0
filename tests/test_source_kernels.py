"""How functions become kernels, how they are launched, tuned and registered."""

import ast

import pytest

from kdiag.diagnose.source.read import read_source
from kdiag.diagnose.source.text import beside
from source_kernels import read

BODY = "def f(x, T: ct.Constant[int]):\n    ct.load(x, (0,), (T,))\n"


@pytest.mark.parametrize(
    ("text", "hints", "names"),
    [
        (f"@ct.kernel\n{BODY}", {}, ()),
        (f"@ct.kernel()\n{BODY}", {}, ()),
        (f"@ct.kernel(occupancy=2)\n{BODY}", {"occupancy": "2"}, ()),
        (f"@ct.kernel(**HINTS)\n{BODY}", {"**": "HINTS"}, ()),
        (f"@marked\n@ct.kernel(num_ctas=2)\n{BODY}", {"num_ctas": "2"}, ()),
        (f"fast = ct.kernel(occupancy=4)\n@fast\n{BODY}", {"occupancy": "4"}, ()),
        (
            f"from functools import partial\nfast = partial(ct.kernel, occupancy=4)\n@fast\n{BODY}",
            {"occupancy": "4"},
            (),
        ),
        (f"{BODY}k = ct.kernel(f)\n", {}, ("k",)),
        (f"{BODY}k = ct.kernel(f, occupancy=8)\n", {"occupancy": "8"}, ("k",)),
        (f"{BODY}k = ct.kernel(occupancy=8)(f)\n", {"occupancy": "8"}, ("k",)),
        (f"{BODY}fast = ct.kernel(occupancy=8)\nk = fast(f)\n", {"occupancy": "8"}, ("k",)),
        (f"{BODY}def go():\n    ct.launch(s, g, ct.kernel(f), a)\n", {}, ()),
        (
            "class C:\n    @staticmethod\n    @ct.kernel\n    def f(x, T: ct.Constant[int]): ct.load(x, (0,), (T,))\n",
            {},
            (),
        ),
        ("if A:\n    @ct.kernel\n    def f(x, T: ct.Constant[int]): ct.load(x, (0,), (T,))\n", {}, ()),
    ],
)
def test_every_way_to_make_a_kernel(text, hints, names):
    (found,) = read(text).kernels
    assert (found.name, found.hints, found.names) == ("f", hints, names)
    assert (found.parameters, found.constants, len(found.accesses)) == (("x", "T"), ("T",), 1)


def test_hints_given_elsewhere_and_by_target():
    text = (
        f"@ct.kernel(occupancy=ct.ByTarget(sm_80=2, default=4))\n{BODY}"
        "wide = f.replace_hints(num_ctas=2)\n"
        "def go(c):\n    tuned = wide.replace_hints(**c.hints)\n    ct.launch(s, g, tuned, a)\n"
    )
    (found,) = read(text).kernels
    assert found.hints_by_target == {"occupancy": {"sm_80": "2", "default": "4"}}
    assert [(hints.values, hints.where.line) for hints in found.replaced_hints] == [
        ({"num_ctas": "2"}, 5),
        ({"**": "c.hints"}, 7),
    ]
    assert found.names == ("wide",)


def test_names_by_star_and_annotations_as_text():
    text = (
        "from __future__ import annotations\nfrom cuda.tile import *\n"
        "def max(a): return a\n"
        "@kernel\ndef f(x, A: 'Constant[int]', B: Constant[int], C: 'not (valid', D: 'int'):\n"
        "    store(x, (bid(0),), max(load(x, (bid(0),), (A,))) / 2)\n"
    )
    (found,) = read_source(text, "k.py").kernels
    assert found.constants == ("A", "B")
    assert [access.kind for access in found.accesses] == ["store", "load"]
    assert [(helper.name, helper.resolved) for helper in found.helpers] == [("max", True)]
    assert [call.name for call in found.math] == ["/"]


def test_imports_are_found_beside_the_file(tmp_path):
    package = tmp_path / "ops"
    (package / "tiles").mkdir(parents=True)
    (package / "gelu.py").write_text(
        "import cuda.tile as ct\nfrom ops.tiles import tanh\ndef gelu(t): return tanh(t)\n"
    )
    (package / "tiles" / "__init__.py").write_text("import cuda.tile as ct\ndef tanh(t): return ct.tanh(t)\n")
    source = package / "k.py"
    source.write_text("import cuda.tile as ct\nfrom .gelu import gelu\n@ct.kernel\ndef k(x): gelu(ct.load(x, 0, 1))\n")
    (found,) = read_source(source.read_text(), "k.py", beside(source)).kernels
    assert [call.name for call in found.math] == ["tanh"]
    assert found.unresolved == ()


def test_the_facts_of_a_kernel_do_not_depend_on_the_layout_of_its_text():
    text = "@ct.kernel\ndef k(x):\n    t = ct.load(x, (ct.bid(0),), (4,)) / 2\n    ct.store(x, (0,), t)\n"
    once, again = read(text), read(ast.unparse(ast.parse(text)))
    assert [a.form for a in once.kernels[0].accesses] == [a.form for a in again.kernels[0].accesses]
