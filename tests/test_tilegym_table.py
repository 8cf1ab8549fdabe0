"""The table of TileGym's kernels finds what is wrong with an edit: it is given edits that are."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("cuda.tile")
pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from tilegym_table.judging import judge
from tilegym_table.originals import originals
from tilegym_table.proposing import ProposeJob, propose
from tilegym_table.records import Checkout, Judged, Kernel, Offer, Original
from tilegym_table.report import Table, as_json, summary, totals
from tilegym_table.workers import Workers

from bundled import TILEGYM, needs_tilegym
from kdiag.executors.edits import registry
from kdiag.executors.edits.base import Applied, Edit, Skipped, Subject
from kdiag.records import CompileFailure, Variant
from tilegym_calls import CALLS

RELU = Kernel("activation/relu.py", "_relu_fwd_kernel")
OFFER = Offer(RELU, "sm_90", "A", "v", "applied", "")
KNOWN = {RELU: Original(RELU, {"sm_90": CompileFailure("error", "x")}, (), {})}


def table(*judged, offers=()):
    return Table(KNOWN, (*offers, *(one.offer for one in judged)), judged, 1.0)


def test_the_summary_lists_bugs_and_the_json_why_an_edit_does_not_apply():
    refused = replace(OFFER, said="skipped", text="line 3: x (y) is not")
    crashed = replace(OFFER, optimization="B", said="crashed", text="ValueError: no")
    twice = replace(OFFER, optimization="C", again="applied")
    found = table(Judged(twice, "", ""), offers=(refused, crashed))
    page = summary(found)
    assert "crashed: activation/relu:_relu_fwd_kernel, B v, sm_90: ValueError: no" in page
    assert "second time applied" in page
    assert totals(found)["failed or crashed"] == 1
    assert '"wrong and not stopped": 0' in (told := as_json(found))
    assert refused.text in told


class Raises(Edit):
    id, title, examples = "X", "", ()

    def variants(self, subject):
        return (Variant("X", "a"), Variant("X", "b"))

    def apply(self, subject, variant):
        if variant.name == "a":
            raise ValueError("no")
        return Applied(subject.source + "#") if len(subject.source) < 3 else Skipped("the text is long enough")


def test_an_edit_that_raises_or_applies_twice_is_found(monkeypatch):
    monkeypatch.setattr("tilegym_table.proposing.EDITS", (Raises(), *registry.EDITS[:0]))
    offers = propose(ProposeJob(RELU, (Subject("x", "k"),), (), 9))
    assert [(one.said, one.text, one.again) for one in offers] == [
        ("crashed", "ValueError: no", ""),
        ("applied", "x#", "applied"),
    ]
    assert propose(ProposeJob(RELU, (Subject("x", "k"),), ("A",), 9)) == ()


@pytest.mark.compiler
@needs_tilegym
def test_wrong_edits_are_stopped_and_right_ones_are_not(tmp_path, monkeypatch):
    """Negative controls: a wrong result, a store past the end, a kernel that does not compile, a wrapper that raises."""
    relu = next(index for index, call in enumerate(CALLS) if call.name == "elementwise")
    monkeypatch.setattr("tilegym_table.originals.CALLS", CALLS[: relu + 1])
    monkeypatch.setattr("tilegym_table.originals._parts", lambda numbers: iter([tuple(numbers)[-6:]]))
    checkout, workers = Checkout(TILEGYM, tmp_path), Workers(2, tmp_path)
    known = originals(checkout, [RELU], workers)
    source = (checkout.operators / RELU.file).read_text()
    edits = {
        "wrong": ("emulation", "ct.maximum(", "ct.minimum("),
        "past": (
            "emulation",
            "ct.scatter(y, offsets, y_tile)",
            "ct.scatter(y, offsets + 1, y_tile, check_bounds=False)",
        ),
        "broken": ("compile", "ct.zeros((BLOCK_SIZE,)", "ct.zeros((BLOCK_SIZE + 1,)"),
        "raises": ("compile", "BLOCK_SIZE = 1024", "BLOCK_SIZE = None"),
        "no-op": ("no-op", "zeros = ct.zeros", "# nothing\n    zeros = ct.zeros"),
        "right": ("", "BLOCK_SIZE = 1024", "BLOCK_SIZE = 512"),
    }
    assert all(source.count(old) == 1 for _, old, _ in edits.values())
    offers = [replace(OFFER, variant=name, text=source.replace(*pair)) for name, (_, *pair) in edits.items()]
    judged = {one.offer.variant: one for one in judge(checkout, offers, known, workers)}
    assert {name: one.stopped for name, one in judged.items()} == {name: gate for name, (gate, *_) in edits.items()}
    assert "bits differ" in judged["wrong"].wrong
    assert "out-of-bounds" in judged["past"].wrong
    assert judged["right"].wrong == judged["no-op"].wrong == ""
