"""Every cause file carries examples of what it is and what it is not; here they are put to the classifier."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.diagnose.classify import DECISIVE, classify
from kdiag.diagnose.metrics import DERIVED, with_derived
from kdiag.records import Evidence, Place, number
from kdiag.rules import cause_page, load_references
from kdiag.rules.load_causes import load_causes
from kdiag.rules.load_metrics import load_metrics

RULES = load_causes()
EXAMPLES = [(rule, example) for rule in RULES.values() for example in rule.examples]
METRICS = sorted({test.metric for rule in RULES.values() for pattern in rule.patterns for test in pattern.tests})
OBSERVED_ELSEWHERE = ("compile.", "source.", "timing.", "work.")


def observe(values):
    return {name: Evidence("metric", name, value) for name, value in values.items()}


@pytest.mark.parametrize(("rule", "example"), EXAMPLES, ids=[f"{rule.id}: {ex.name}" for rule, ex in EXAMPLES])
def test_example(rule, example):
    diagnosis = classify(observe(dict(example.metrics)))
    if example.shown:
        assert diagnosis.causes[0].id == rule.id
        assert diagnosis.causes[0].evidence
        assert diagnosis.confidence >= DECISIVE
    else:
        assert rule.id not in {cause.id for cause in diagnosis.causes}


@pytest.mark.parametrize("rule", [rule for rule in RULES.values() if rule.id != "unknown"], ids=lambda rule: rule.id)
def test_every_cause_is_complete(rule):
    assert {example.shown for example in rule.examples} == {True, False}
    assert rule.meaning.endswith(".")
    assert rule.what_to_do.endswith(".")
    assert set(rule.outranks) <= set(RULES) - {rule.id, "unknown"}
    for pattern in rule.patterns:
        assert 0 < pattern.ceiling <= 1
        assert any(test.role == "shows" and test.required and test.text for test in pattern.tests)
        for test in pattern.tests:
            assert test.none != test.full
            assert test.reason
            assert test.metric.startswith(OBSERVED_ELSEWHERE) or test.metric in known_names()


def known_names():
    return set(load_metrics()) | {derived.name for derived in DERIVED}


def test_examples_and_inputs_use_known_names():
    inputs = {name for derived in DERIVED for name in derived.inputs if not name.startswith(OBSERVED_ELSEWHERE)}
    given_names = {
        name for _, example in EXAMPLES for name in example.metrics if not name.startswith(OBSERVED_ELSEWHERE)
    }
    assert inputs | given_names <= known_names()


def test_nothing_observed_is_unknown():
    diagnosis = classify({})
    assert (diagnosis.bottleneck, diagnosis.confidence) == ("unknown", 0.0)
    assert [cause.id for cause in diagnosis.causes] == ["unknown"]
    assert len(diagnosis.not_evaluated) == len(RULES) - 1


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), "n/a"])
def test_an_unreadable_metric_is_not_evaluated_rather_than_zero(value):
    diagnosis = classify({"tensor_pct": Evidence("metric", "tensor_pct", value)})
    assert "tensor-pipe: needs tensor_pct" in diagnosis.not_evaluated


@given(st.dictionaries(st.sampled_from(METRICS), st.one_of(st.none(), st.floats(allow_nan=True, width=32))))
def test_any_subset_of_observations_has_an_answer(values):
    observations = {name: Evidence("metric", name, value) for name, value in values.items()}
    diagnosis = classify(observations)
    scores = [cause.score for cause in diagnosis.causes]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert diagnosis.confidence == scores[0]
    known = with_derived(observations)
    evidence = [each for cause in diagnosis.causes for each in cause.evidence]
    assert all(any(each.value == other.value for other in known.values()) for each in evidence)


def test_spills_outrank_the_memory_traffic_they_cause():
    busy = dict.fromkeys(("memory_pct", "dram_pct", "l2_pct"), 95)
    full = {**busy, "compute_pct": 11, "spill_instructions": 6e7, "instructions": 1e8}
    diagnosis = classify(observe(full))
    assert [cause.id for cause in diagnosis.causes] == ["register-spills"]
    assert diagnosis.bottleneck == "memory"
    stalled = classify(observe({**full, "memory_pct": 30, "dram_pct": 20, "l2_pct": 30}))
    assert (stalled.causes[0].id, stalled.bottleneck) == ("register-spills", "latency")


def test_what_timing_says_is_told_where_no_cause_is_decisive():
    told = Evidence("timing", "timing.pct_of_copy_bandwidth", 50.0, "%", text="50 % of the measured copy bandwidth")
    (unknown,) = classify({told.name: told}).causes
    assert (unknown.id, unknown.evidence) == ("unknown", (told,))


def test_evidence_keeps_its_place():
    where = Place("kernel.py", 30, 14)
    diagnosis = classify({"compile.mma_off_tensor_cores": Evidence("remark", "RemarkTensorCoreMMA", 1, "", where)})
    (evidence,) = diagnosis.causes[0].evidence
    assert (evidence.kind, evidence.where) == ("remark", where)


def test_a_derived_metric_is_unavailable_with_its_inputs():
    assert number(with_derived(observe({"spill_instructions": 5})), "spill_share_pct") is None
    assert number(with_derived(observe({"spill_instructions": 0, "instructions": 0})), "spill_share_pct") is None
    assert number(with_derived(observe({"waves": 1.25})), "tail_loss_pct") == pytest.approx(37.5)
    assert number(with_derived(observe({"waves": 0.5})), "tail_loss_pct") == 0


def test_every_observation_that_causes_ask_for_is_made():
    from kdiag.diagnose.compiler.observe import FIGURES
    from kdiag.diagnose.compiler.observe_products import NAME
    from kdiag.diagnose.compiler.observe_remarks import COUNTS
    from kdiag.diagnose.source.observe import _FINDERS
    from kdiag.executors.host_timing import RunTiming

    made = (
        {figure.name for figure in FIGURES}
        | {count.name for count in COUNTS}
        | set(_FINDERS)
        | set(RunTiming(2.0, 1.0, 1).observations())
    )
    made |= {NAME, "work.bytes", "work.flops", "timing.pct_of_copy_bandwidth", "timing.pct_of_tensor_peak"}
    asked = {name for name in METRICS if name.startswith(OBSERVED_ELSEWHERE)}
    assert asked <= made


def test_every_cause_has_its_page():
    pages = {name: page for name, page in load_references.load().items() if page.kind == "cause"}
    assert pages.keys() == RULES.keys()
    for name, rule in RULES.items():
        assert pages[name].title == rule.title
        assert list(pages[name].sections)[1:3] == ["What it is", "What to do"]


def test_page_says_what_counts_and_why():
    page = cause_page.render(RULES["barrier"])
    assert "a cause of the class **latency**" in page
    assert "| `barrier_pct` | 20 | 45 | for it | Reductions of good kernels" in page
    assert "* **not this**: row softmax with two reductions" in page
