"""What a plan compiles: what may come first, what a search would try, and nothing where nothing is left to gain."""

from kdiag.loop.candidates import PlanRequest, plan
from kdiag.loop.findings import Findings
from kdiag.workload import source_hash
from plan_cases import compiled, diagnosis, offer

LARGER = [offer("G", f"tile={size}") for size in (512, 8192)]


class Fake:
    """A compiler for which every source is code of its own, and that remembers what it was asked for."""

    target, file_name = "sm_90", "kernel.py"

    def __init__(self):
        self.asked = []

    def compile(self, sources):
        self.asked += sources
        return {source_hash(source): compiled(source) for source in sources}

    def compile_one(self, source):
        return compiled("parent")


def asked(*proposals, causes, headroom=None):
    compiler = Fake()
    findings = Findings({}, diagnosis(*causes), compiled("parent"), ())
    plan(PlanRequest("parent", "k", findings, "yes", headroom, start_values=(), proposals=proposals), compiler)
    return [source.strip("# \n") for source in compiler.asked]


def test_what_cannot_come_first_is_not_compiled_and_what_may_is():
    hints = [offer("hints", f"occupancy={n}") for n in (4, 16)]
    for_occupancy = asked(*hints, offer("E", "loads=2"), causes=[("occupancy-registers", 0.9)])
    assert for_occupancy == ["hints occupancy=4"]
    alike = asked(offer("H", "reciprocal"), offer("H", "exp2"), causes=[("special-functions-and-division", 0.9)])
    assert set(alike) == {"H reciprocal", "H exp2"}


def test_nothing_but_the_first_is_compiled_where_nothing_is_left():
    proposals = [offer("bounds", name) for name in ("all", "reads", "writes")]
    assert len(asked(*proposals, causes=[("dram-bandwidth", 1.0)], headroom=1.003)) == 1


def test_the_most_promising_are_compiled_first_not_the_surest():
    tile, hints = offer("G", "tile=512"), [offer("hints", f"occupancy={n}") for n in range(2, 32)]
    assert "G tile=512" in asked(*hints, tile, causes=[("grid-too-small", 1.0)])


def test_a_search_is_judged_by_what_it_searches():
    search = [offer("C", "tiles"), *LARGER, offer("bounds", "all")]
    assert {"C tiles", "G tile=512", "G tile=8192"} <= set(asked(*search, causes=[("tail-effect", 0.9)]))
