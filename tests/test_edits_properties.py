"""No text makes an edit raise, and what an edit returns parses, is final, and touches nothing but the kernel it was given."""

import ast

import libcst as cst
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kdiag.executors.edits.base import Applied, Skipped, Subject
from kdiag.executors.edits.registry import EDITS, EXECUTORS, propose
from kdiag.executors.edits.syntax.kernel_source import read_kernel, remove_keyword, set_keyword
from kdiag.executors.edits.syntax.parsing import parse
from kdiag.executors.edits.tile_sizes import TileSizes
from kdiag.records import Variant

SOURCES = [(example.before, example.kernel) for edit in EDITS for example in edit.examples]
QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SNIPPETS = [*"()[\n:,#'\\\0\ufeff\r\t@=*", "    ", '"""', "ct."]
PREFIX = "# ünrelated ,  text\nweird = { 'a' :1,\n  'b':2 } ;  other=3\n"
SUFFIX = "\n\ndef  untouched( q,r = 64 ):\n\treturn q  *r # keep\n"


@st.composite
def damaged(draw):
    """The source of an example with pieces cut out, doubled or put in."""
    source, kernel = draw(st.sampled_from(SOURCES))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(source)))
        end = min(len(source), at + draw(st.integers(0, 60)))
        inserted = draw(st.sampled_from([*SNIPPETS, source[at:end]]))
        source = source[:at] + inserted + source[draw(st.sampled_from([at, end])) :]
    return source, kernel


@st.composite
def elementwise(draw):
    """A kernel that adds one or several vectors, written and launched in one of many ways."""
    count = draw(st.integers(1, 3))
    size = draw(st.sampled_from([128, 256, 1024, 4096]))
    decorator = draw(
        st.sampled_from(["", "()", "(occupancy=2)", "(\n    opt_level = 3,  # all\n)", "(num_worker_warps=4)"])
    )
    arrays = [f"x{i}" for i in range(count)]
    local, default = draw(st.sampled_from([(True, False), (False, True), (False, False)]))
    lines = ["import cuda.tile as ct", "", "" if local or default else f"TILE  =  {size}   # elements", ""]
    lines += [f"@ct.kernel{decorator}", f"def total({', '.join(arrays)}, y, T: ct.Constant[int]):"]
    if draw(st.booleans()):
        index = "ct.bid(0) * T + ct.arange(T, dtype=ct.int32)"
        lines += [f"    index = {index}", f"    value = {' + '.join(f'ct.gather({a}, index)' for a in arrays)}"]
        lines += ["    ct.scatter( y, index,  value )"]
    else:
        lines += [f"    value = {' + '.join(f'ct.load({a}, (ct.bid(0),), shape=(T,))' for a in arrays)}"]
        lines += ["    ct.store( y, (ct.bid(0),),  ct.exp(value) )"]
    lines += ["", f"def launch(stream, n, y, {', '.join(arrays)}{f', TILE = {size}' if default else ''}):"]
    lines += [f"    TILE = {size}"] if local else []
    lines += [f"    ct.launch(stream, (ct.cdiv(n, TILE),), total, ({', '.join(arrays)}, y, TILE))", ""]
    return "\n".join(lines)


@pytest.mark.parametrize("edit", EDITS, ids=EXECUTORS)
@QUICK
@given(text=st.text(max_size=200), kernel=st.text(max_size=8))
@example(text="def f(:", kernel="f")
@example(text="import cuda.tile as ct\n", kernel="f")
@example(text="x = 1\n\x00", kernel="f")
@example(text="\ufeff", kernel="f")
@example(text="def f(): pass", kernel="f")
def test_any_text_is_skipped(edit, text, kernel):
    subject = Subject(text, kernel)
    own = {each.variant: Variant(edit.id, each.variant, each.settings) for each in edit.examples}
    for variant in (*edit.variants(subject), *own.values()):
        assert isinstance(edit.apply(subject, variant), Skipped)


@pytest.mark.parametrize("edit", EDITS, ids=EXECUTORS)
@QUICK
@given(case=damaged())
def test_damaged_source_never_raises_and_results_parse(edit, case):
    source, kernel = case
    for variant in edit.variants(Subject(source, kernel))[:3]:
        outcome = edit.apply(Subject(source, kernel), variant)
        if isinstance(outcome, Applied):
            ast.parse(outcome.source)


@QUICK
@given(source=elementwise())
def test_what_is_proposed_parses_is_final_and_leaves_the_rest_alone(source):
    whole = PREFIX + source + SUFFIX
    by_id = {edit.id: edit for edit in EDITS}
    for proposal in propose(Subject(whole, "total"), "k.py"):
        if proposal.source is not None:
            ast.parse(proposal.source)
            assert proposal.source.startswith(PREFIX)
            assert proposal.source.endswith(SUFFIX)
            again = by_id[proposal.variant.optimization].apply(Subject(proposal.source, "total"), proposal.variant)
            assert isinstance(again, Skipped), (proposal.variant, again)


@QUICK
@given(source=elementwise(), ending=st.sampled_from(["\n", "\r\n"]))
def test_a_tile_size_changes_one_number_on_one_line(source, ending):
    source = (PREFIX + source + SUFFIX).replace("\n", ending)
    edit = TileSizes()
    offered = edit.variants(Subject(source, "total"))
    assert offered
    for variant in offered:
        outcome = edit.apply(Subject(source, "total"), variant)
        before, after = source.split("\n"), outcome.source.split("\n")
        (pair,) = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
        (value,) = variant.settings.values()
        assert f"{value}" in pair[1]
        assert outcome.safety == "safe"


@QUICK
@given(
    arguments=st.lists(st.sampled_from(["a", "b=1", "f(c, d)", "(e, 2)"]), unique=True, max_size=4).map(
        lambda found: sorted(found, key=lambda argument: "=" in argument)
    ),
    gap=st.sampled_from([",", ", ", ",\n    ", ",  # note\n    "]),
    ends=st.sampled_from(["", ",", ",\n", "\n", ",  # last\n"]),
)
def test_a_keyword_can_be_set_and_removed_again(arguments, gap, ends):
    call = cst.parse_expression(f"f({gap.join(arguments)}{ends if arguments else ''})")
    module = cst.Module([])
    added = set_keyword(call, "new", "3")
    text = module.code_for_node(added)
    assert ast.unparse(ast.parse(text)) == ast.unparse(ast.parse(f"f({', '.join([*arguments, 'new=3'])})"))
    assert text.count("#") == module.code_for_node(call).count("#")
    assert ast.dump(ast.parse(module.code_for_node(remove_keyword(added, "new")))) == ast.dump(
        ast.parse(module.code_for_node(call))
    )


@pytest.mark.parametrize("opening", ["(", "[", "f(", "-", "not ", "lambda: ", "x if y else ", "if 1:\n"])
def test_deep_nesting_is_refused_before_it_overflows_the_stack(opening):
    for depth in (150, 5000):
        assert parse(opening * depth + "1" + ")" * depth) is None or depth < 200


@pytest.mark.parametrize(
    ("imported", "prefix"),
    [
        ("import cuda.tile as ct", "ct"),
        ("import cuda.tile", "cuda.tile"),
        ("from cuda import tile", "tile"),
        ("from cuda import tile as t", "t"),
    ],
)
def test_the_kernel_is_found_under_any_name_of_the_module(imported, prefix):
    source = f"{imported}\n\n@{prefix}.kernel\ndef k(x):\n    {prefix}.load(x, (0,), (1,))\n"
    assert len(read_kernel(source, "k").calls("load")) == 1
