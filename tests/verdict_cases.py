"""Candidates and runs to judge: what the tests of verdicts, of policies and of the end of a run share."""

from kdiag.executors.decide import CandidateOutcome
from kdiag.executors.stopping import Progress
from kdiag.records import ConfigurationCheck, ConfigurationTiming, GateRecord, Iteration
from kdiag.rules import load_policies

TILEGYM = load_policies.load("tilegym")
ADAPTIVE = load_policies.load("adaptive")
OPTIMIZE_LOOP = load_policies.load("optimize-loop")
POLICIES = [TILEGYM, ADAPTIVE, OPTIMIZE_LOOP]
RIGHT = ConfigurationCheck("a", True, 1e-4, 1e-2)
WRONG = ConfigurationCheck("b", False, 0.7, 1e-2, "row 3 is zero")
COMPILED = GateRecord("compile", "passed")
GOING = Progress(open_candidates=5, elapsed_s=1.0, headroom_pct=40.0)


def timing(speedup, width=0.002, floor=0.003, name="a"):
    return ConfigurationTiming(name, speedup, 1.0, speedup, speedup - width, speedup + width, floor, 50)


def outcome(*timings, **more):
    return CandidateOutcome(**({"gates": (COMPILED,), "checks": (RIGHT,), "timings": timings} | more))


def row(n, verdict, speedup=1.2):
    return Iteration(n, "E", str(n), "", "PASS", 1.0, speedup, verdict, "", timings=(timing(speedup),))


def rows(*verdicts):
    return [row(0, "keep"), *(row(n, verdict) for n, verdict in enumerate(verdicts, 1))]
