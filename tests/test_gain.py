"""The gain model on made-up rules: bounded by what it was told, monotone, and honest about where figures come from."""

import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kdiag.planner.gain import expectation
from kdiag.planner.graph import build
from kdiag.planner.groups import Circumstances
from kdiag.planner.shrinkage import NO_EFFECT, Figure, shrunk
from kdiag.records import Cause
from kdiag.rules.load_causes import load_causes
from kdiag.rules.load_playbook import Gain, load
from plan_cases import compiled, diagnosis, find, offer, plan
from test_experience import CAUSE, FEATURES, many

RATIOS = st.floats(0.05, 30)
GAINS = st.builds(
    lambda edges, n: Gain(*sorted(edges), n, "source"), st.tuples(RATIOS, RATIOS, RATIOS), st.integers(0, 20)
)
ARCHITECTURES = st.sampled_from(["sm_90", "sm_100"])


def expected(gains, trials, target="sm_90"):
    optimization = load()["H"]
    treat = next(treat for treat in optimization.treats if treat.variant == "all" and treat.cause == CAUSE)
    made = replace(optimization, treats=(replace(treat, gains=gains),), edges=())
    case = Circumstances(target, (Cause(CAUSE, 0.9, "compute", ()),), FEATURES, tuple(trials))
    return expectation(build({"H": made}, load_causes()), made, "all", case)


@given(st.dictionaries(ARCHITECTURES, GAINS, min_size=1), st.lists(RATIOS, max_size=4), ARCHITECTURES)
def test_bounded_by_its_inputs_and_no_other_architecture_unannounced(gains, speedups, seen_on):
    trials = [t for x in speedups for t in many(1, x, architecture=seen_on)]
    made = expected(gains, trials)
    told = [x for gain in gains.values() for x in (gain.low, gain.high)] + speedups
    low, high = min(0.9, *told) * 0.999, max(1.05, *told) * 1.001
    assert low <= made.speedup.low <= made.speedup.mid <= made.speedup.high <= high
    assert ("sm_100" in " ".join(made.reasons)) == ("sm_90" not in gains or (bool(trials) and seen_on == "sm_100"))


@given(GAINS, st.lists(RATIOS, min_size=1, max_size=4), st.floats(1, 3), ARCHITECTURES)
def test_a_faster_trial_never_makes_the_estimate_slower(gain, speedups, factor, seen_on):
    first, *others = speedups
    rest = [t for x in others for t in many(1, x)]
    slower, faster = (
        expected({"sm_90": gain}, (*many(1, x, architecture=seen_on), *rest)).speedup.mid
        for x in (first, first * factor)
    )
    assert slower <= faster * (1 + 1e-9)


@given(RATIOS, st.integers(1, 30))
def test_measurements_that_agree_narrow_the_interval_and_pull_towards_themselves(ratio, n):
    mid = math.log(ratio)
    few, more = (shrunk([Figure(mid - 0.3, mid, mid + 0.3, count)], NO_EFFECT) for count in (n, n + 1))
    assert more.high - more.low < few.high - few.low
    assert abs(more.mid - mid) <= abs(few.mid - mid)


def test_the_weights_are_those_of_the_counts():
    nine, none = (Gain(1.2, 1.35, 1.5, n, "source") for n in (9, 0))
    slow = many(1, 0.7)
    assert expected({"sm_90": nine}, slow).speedup.mid > 1.2
    assert expected({"sm_90": none}, slow).speedup.mid < 1.0


def test_other_causes_are_one_opinion_and_other_architectures_are_named_there_too():
    memory_bound = plan(offer("H", "all"), diagnosis=diagnosis(("dram-bandwidth", 0.9)))
    assert 1.0 < find(memory_bound, "H", "all").expected_speedup.mid < 1.03, "a guess of 1.01 beside 1.35 and 1.30"
    for target in ("sm_90", "sm_100"):  # for this cause there is a guess alone, for others measurements on sm_90
        told = find(plan(diagnosis=diagnosis(("bytes-in-flight", 0.9)), target=target), "G").explanation
        assert ("partly from sm_90, weak evidence for sm_100" in told) == (target == "sm_100")


def test_smaller_tiles_do_not_treat_tiles_that_are_too_small():
    causes, offers = diagnosis(("tile-too-small", 0.9)), [offer("G", f"tile={size}") for size in (128, 512)]
    offers = [
        replace(o, variant=replace(o.variant, settings={"tile": n}, present={"tile": 256}))
        for o, n in zip(offers, (128, 512), strict=True)
    ]
    suggestions = plan(*offers, diagnosis=causes)
    assert find(suggestions, "G", "tile=512").expected_speedup.mid > 1.3
    assert find(suggestions, "G", "tile=128").expected_speedup.mid < 1.1


def test_no_ops_of_other_kernels_do_not_count_against_code_that_is_no_no_op():
    hint, causes = offer("hints", "occupancy=8"), diagnosis(("instruction-issue", 0.9))
    trials = [
        replace(t, optimization="hints", variant="occupancy=8", verdict="no-op", speedup=None) for t in many(4, 1.0)
    ]
    unknown = find(plan(hint, diagnosis=causes, trials=tuple(trials), features=FEATURES), "hints", "occupancy=8")
    known = plan(
        hint,
        diagnosis=causes,
        trials=tuple(trials),
        features=FEATURES,
        parent=compiled("p"),
        compilations={hint.source: compiled("c")},
    )
    assert find(known, "hints", "occupancy=8").confidence > 2 * unknown.confidence
