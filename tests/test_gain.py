"""The gain model on made-up rules: bounded by what it was told, monotone, and honest about where figures come from."""

import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kdiag.planner.gain import expectation
from kdiag.planner.graph import build
from kdiag.planner.groups import Candidate, Circumstances
from kdiag.planner.shrinkage import NO_EFFECT, Figure, shrunk
from kdiag.records import Cause, Effect
from kdiag.rules.load_causes import load_causes
from kdiag.rules.load_playbook import Gain, load
from plan_cases import compiled, diagnosis, find, offer, plan, resized
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


def test_what_it_did_for_other_causes_promises_nothing():
    memory_bound = plan(offer("H", "all"), diagnosis=diagnosis(("dram-bandwidth", 0.9)))
    assert abs(find(memory_bound, "H", "all").expected_speedup.mid - 1) < 0.005, "1.35 and 1.30 are for others"


def tile(size):
    return resized(f"tile={size}", tile=256)


def test_trials_of_tiles_are_compared_by_what_was_done_to_them():
    causes = diagnosis(("tile-too-small", 0.9))

    def speedup(*effects, stack=0, blocks=64, name="block=128"):
        source, trials = tile(512).source, (each for e in effects for each in many(5, 3.0, effect=e))
        told = [replace(each, optimization="G", variant=name, cause="tile-too-small") for each in trials]
        known = {
            "compilations": {source: compiled("b", stack=stack, blocks=blocks)},
            "parent": compiled("a", blocks=128),
        }
        made = plan(tile(512), diagnosis=causes, trials=tuple(told), features=FEATURES, **known)
        return find(made, "G", "tile=512").expected_speedup.mid

    nothing = speedup()
    assert speedup(Effect(2.0, "changed", 0)) > speedup(Effect(8.0, "changed", 0)) > nothing
    assert speedup(Effect(2.0, "kept", 0)) == nothing, "a tile of a loop"
    assert speedup(Effect(2.0, "kept", 0), blocks=128) > speedup(blocks=128)
    assert speedup(Effect(0.5, "changed", 0), name="tile=512") == nothing, "smaller"
    assert speedup(Effect(2.0, "changed", 64)) == nothing, "it spilled, and this does not"
    assert speedup(Effect(2.0, "changed", 0), name="block=128,num_worker_warps=8") == nothing, "other warps"


def test_larger_tiles_of_a_loop_help_too_few_blocks():
    causes = diagnosis(("grid-too-small", 1.0))

    def speedup(size, blocks):
        known = {tile(size).source: compiled("c", blocks=blocks)} if blocks else {}
        plans = plan(tile(size), diagnosis=causes, parent=compiled("p", blocks=64), compilations=known)
        return find(plans, "G", f"tile={size}").expected_speedup

    assert speedup(512, 64).mid > 1.03
    assert speedup(512, 32).high < 1.0, "it decides the grid"
    assert speedup(128, 64).mid <= 1.0, "smaller tiles are no treatment"
    unknown = speedup(512, None)
    assert unknown.mid < 1.0
    assert unknown.high > 1.2, "worth compiling"


def test_no_ops_of_other_kernels_do_not_count_against_code_that_is_no_no_op():
    hint, causes = offer("hints", "occupancy=8"), diagnosis(("instruction-issue", 0.9))
    trials = [
        replace(t, optimization="hints", variant="occupancy=8", verdict="no-op", speedup=None) for t in many(4, 1.0)
    ]
    inputs = {"diagnosis": causes, "trials": tuple(trials), "features": FEATURES}
    unknown = find(plan(hint, **inputs), "hints", "occupancy=8")
    known = plan(hint, **inputs, parent=compiled("p"), compilations={hint.source: compiled("c")})
    assert find(known, "hints", "occupancy=8").confidence > 2 * unknown.confidence


def test_failures_count_where_a_kernel_has_what_all_that_failed_have():
    def works(*features, kinds=(("mma", "loads"), ("mma", "stores"))):
        failed = [replace(t, speedup=None, verdict="crash", features=kind) for kind in kinds for t in many(3, 1.0)]
        case = Circumstances("sm_90", (), features, tuple(failed))
        return Candidate(build(load(), load_causes()), load()["H"], "all", case).works()

    assert works("loads", "stores") == 1.0
    assert works("mma", "loads") < 0.5
    assert (
        works("mma", "loads", kinds=(("loads",), ("mma", "loads"))) < works("loads", kinds=(("mma", "loads"),)) == 1.0
    )
