"""Generated kernels with known facts, and texts cut or changed anywhere."""

from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bundled import EXAMPLES
from kdiag.diagnose.source.observe import from_source
from kdiag.diagnose.source.read import SourceFacts, read_source
from kdiag.errors import UsageError

FILES = sorted(EXAMPLES.glob("*/*.py"))


@dataclass(frozen=True)
class Piece:
    """A statement of a kernel and what it adds to the counts."""

    text: str
    adds: tuple[str, ...]


PIECES = [
    Piece("t = ct.load(x, (b,), (T,))", ("loads",)),
    Piece("t = ct.load(x, index=(b,), shape=(T,), padding_mode=NEG)", ("loads", "loads_without_zero_padding")),
    Piece("ct.store(y, (b,), t)", ("stores",)),
    Piece("t = ct.gather(x, b * T + ct.arange(T, dtype=ct.int32))", ("gathers", "gathers_contiguous")),
    Piece("t = ct.gather(x, (b, 2 * offsets))", ("gathers",)),
    Piece("t = ct.gather(x, ct.gather(y, b))", ("gathers", "gathers", "indirect_gathers")),
    Piece("ct.scatter(y, offsets, t)", ("scatters",)),
    Piece("t = ct.exp(t)", ("exponentials",)),
    Piece("t = t / 2", ("exact_divisions",)),
    Piece("ct.atomic_add(y, b, 1)", ("atomics",)),
    Piece("acc = ct.mma(f, f, acc)", ("mma", "mma_float32")),
    Piece("acc = ct.mma(f.astype(ct.bfloat16), f, acc)", ("mma",)),
    Piece("n = n + missing(n)", ("unresolved_helpers",)),
]


@st.composite
def kernels(draw):
    """The text of a kernel, in any order and nesting, and its counts; `missing` is one function however often called."""
    lines, counts, depths = [], Counter(), [4]
    for piece in draw(st.lists(st.sampled_from(PIECES), max_size=12)):
        if len(depths) > 1 and draw(st.booleans()):
            depths.pop()
        if len(depths) < 4 and draw(st.booleans()):
            kind = draw(st.sampled_from(["for i in range(n):", "if n > 2:", "for i in range(b, n, ct.num_blocks(0)):"]))
            lines.append(f"{' ' * depths[-1]}{kind}")
            counts["persistent_loops"] += "num_blocks" in kind
            depths.append(depths[-1] + 4)
        lines.append(f"{' ' * depths[-1]}{piece.text}")
        inner = any(line.lstrip().startswith("for i in range(n)") for line in _around(lines))
        counts.update(piece.adds)
        counts["loads_in_loops"] += inner and "loads" in piece.adds
    counts["unresolved_helpers"] = min(1, counts["unresolved_helpers"])
    head = (
        "import cuda.tile as ct\nfrom elsewhere import missing\nNEG = ct.PaddingMode.NEG_INF\n"
        "@ct.kernel\ndef k(x, y, n: int, T: ct.Constant[int]):\n"
        "    b = ct.bid(0)\n    offsets = ct.arange(T, dtype=ct.int32)\n    t = offsets\n"
        "    f = ct.zeros((T, T), ct.float32)\n    acc = f\n"
    )
    return head + "\n".join(lines) + "\n", counts


def _around(lines):
    """The headers that the last line stands in."""
    found, depth = [], len(lines[-1]) - len(lines[-1].lstrip())
    for line in reversed(lines):
        at = len(line) - len(line.lstrip())
        if at < depth:
            found.append(line)
            depth = at
    return found


@settings(deadline=None, max_examples=150)
@given(kernels())
def test_the_counts_are_those_of_the_pieces(made):
    text, counts = made
    observed = from_source(read_source(text, "k.py"), "k")
    seen = {name.removeprefix("source."): one.value for name, one in observed.items() if one.value}
    seen.pop("in_place_loops", None)  # a property of two pieces together; tests/test_observe_source.py has it
    assert seen == {name: count for name, count in counts.items() if count}
    for one in observed.values():
        assert (one.where is not None) is bool(one.value)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_a_text_that_is_cut_or_changed_gives_facts_or_a_usage_error(path, data):
    text = path.read_text("utf-8")
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    between = data.draw(st.sampled_from(["", "\n", "(", "    ", "ct.", "lambda: ", "*", ", x)"]))
    for changed in (text[:end], text[:start] + between + text[end:]):
        try:
            facts = read_source(changed, "cut.py")
        except UsageError:
            continue
        assert isinstance(facts, SourceFacts)
