"""Made-up kernels, proposals and compilations for the tests of the planner."""

from dataclasses import replace

from kdiag.diagnose.compiler.observe import from_compilation
from kdiag.loop.candidates import compiled as after_compiling
from kdiag.planner.rank import PlanInputs, rank
from kdiag.records import Cause, CompileEvidence, Diagnosis, Evidence, Launch, Place, Proposal, Remark, Variant
from kdiag.workload import source_hash

ROUNDING = {"D", "H"}
PLACE = Place("kernel.py", 10, 4)


def offer(optimization, variant, **changes):
    safety = "changes-rounding" if optimization in ROUNDING else "safe"
    source = f"# {optimization} {variant}\n"
    title = f"{optimization} with {variant}"
    proposal = Proposal(
        Variant(optimization, variant), title, safety, source, None, PLACE, diff="--- a\n+++ b\n-x\n+y\n"
    )
    return replace(proposal, **changes)


def resized(name, **present):
    settings = {key: int(value) for key, _, value in (setting.partition("=") for setting in name.split(","))}
    return replace(offer("G", name), variant=Variant("G", name, settings, present))


def compiled(code, *remarks, stack=0, blocks=1, launch=None):
    launch = launch or Launch("k", (blocks,), ())
    return (CompileEvidence("k", "sm_90", launch, 255, stack, 0, 100, code, remarks, 0.3),)


def remark(name, passed, instruction="", text="", line=12):
    return Remark(name, passed, Place("kernel.py", line, 8), "k", instruction, "", text)


FMA = remark("RemarkTensorCoreMMA", False, "FMA", "it is using FMA instructions instead")
TENSOR = remark("RemarkTensorCoreMMA", True, "Tensor-core SM90")
TMA_STORE = remark("RemarkMemoryStoreInstructionSelected", True, "TMA Store instruction", line=20)
REJECTED = remark("RemarkMemoryTmaLoadFailed", False, "", "TMA only supports zero padding", line=18)


def diagnosis(*causes, confidence=0.8, bottleneck="compute"):
    evidence = (Evidence("metric", "issue_pct", 64.0, "%"),)
    return Diagnosis(bottleneck, confidence, tuple(Cause(name, score, bottleneck, evidence) for name, score in causes))


def plan(*proposals, **inputs):
    compilations = inputs.pop("compilations", {})
    hashes = {source_hash(source): compilation for source, compilation in compilations.items()}
    default = PlanInputs("sm_90", None, None, proposals, {}, None, "yes", {})
    parent = inputs.get("parent")
    before = from_compilation(parent) if isinstance(parent, tuple) else {}
    return rank(after_compiling(replace(default, **{"observations": before, **inputs}), hashes))


def find(suggestions, optimization, variant=""):
    return next(s for s in suggestions if (s.optimization, s.variant) == (optimization, variant))


SOFTMAX = (
    offer("A", "tile-load-store"),
    offer("A", "tile-load-store-no-tma"),
    offer("H", "exp2"),
    offer("H", "all"),
    offer("hints", "occupancy=4"),
    offer("hints", "occupancy=8"),
)
SOFTMAX_CAUSES = diagnosis(
    ("special-functions-and-division", 0.7), ("instruction-issue", 0.6), ("occupancy-registers", 0.3)
)
MATMUL = (
    offer("D", "tf32", source=None, why_not="the operands are bfloat16"),
    resized("tile_m=128,tile_n=256", tile_m=128, tile_n=128),
    resized("tile_m=128,tile_n=256,num_worker_warps=8", tile_m=128, tile_n=128),
    resized("tile_m=64,tile_n=128", tile_m=128, tile_n=128),
    offer("hints", "occupancy=2"),
    offer("hints", "num_ctas=2"),
)
