"""The brief says all that is known, in both forms, and its code compiles."""

import ast
import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from edit_compilation import compile_to_cubin
from edit_emulation import called
from kdiag.commands.plan import command
from kdiag.loop.brief import CONSTRAINTS, BriefRequest, brief
from kdiag.loop.compiler import Compiler
from kdiag.loop.findings import Findings
from kdiag.records import (
    ArrayArgument,
    Brief,
    Cause,
    CompileEvidence,
    CompileFailure,
    Diagnosis,
    Evidence,
    Iteration,
    Launch,
    Place,
    Remark,
    ScalarArgument,
)
from kdiag.reporters import json_brief, markdown_brief
from kdiag.rules.load_causes import load_causes
from kdiag.rules.load_ideas import ideas_for, load_ideas
from plan_cases import SOFTMAX, SOFTMAX_CAUSES, plan

SOURCE = """\
import cuda.tile as ct


@ct.kernel
def copy_kernel(x, y, T: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (T,)))
"""
HEADINGS = [
    "Kernel",
    "Launches",
    "What the compiler says",
    "What limits it",
    "What was tried",
    "What can be applied",
    "What cannot, and why",
    "Beyond the rules",
    "What may not change",
    "How to verify",
]


def known(tmp_path):
    """A brief of a kernel for which there is no workload."""
    why = CompileFailure("unavailable", "there is no Python workload to capture launches from")
    shown = Evidence("remark", "compile.tma_loads_rejected", 1, where=Place("k.py", 6), text="the load was refused")
    diagnosis = Diagnosis("memory", 0.9, (Cause("launch-bound", 0.8, "host", (shown,)),))
    findings = Findings({}, diagnosis, why, ("no profiler report",))
    tried = Iteration(1, "H", "all", "Fast math", "PASS", 0.13, 1.35, "keep", "35 % faster")
    compiler = Compiler(None, "k.py", "sm_90", tmp_path)
    suggestions = plan(*SOFTMAX, diagnosis=SOFTMAX_CAUSES)
    request = BriefRequest(tmp_path / "k.py", SOURCE, "copy_kernel", findings, suggestions, (tried,))
    return brief(request, compiler)


def compiled():
    arguments = (
        ArrayArgument("x", "float32", (8, 100), (200, 1)),
        ArrayArgument("y", "float32", (8, 100), (100, 1)),
        ScalarArgument("T", 64, True),
    )
    launch = Launch("copy_kernel", (2, 8, 1), arguments, hints={"occupancy": 2})
    remark = Remark("RemarkMemoryTmaLoadFailed", False, Place("k.py", 6, 4), "copy_kernel", text="rows of 800 bytes")
    return CompileEvidence("copy_kernel", "sm_90", launch, 40, 0, None, 512, "a", (remark,), 0.1)


def test_every_section_is_there_also_where_nothing_is_known(tmp_path):
    text = markdown_brief.render(known(tmp_path))
    assert [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")] == HEADINGS
    for said in (
        "line 4",
        "def copy_kernel(x, y",
        "no Python workload",
        "line 6: the load was refused",
        "How far it is from the roofline is unknown.",
        "1: H all: keep, 1.350x. 35 % faster",
        "no executor yet",
        "def copy_kernel_batched(sources",
        *CONSTRAINTS,
    ):
        assert said in text
    assert "None" not in text.replace("-> None:", "")


def test_launches_and_compiler_are_told_with_their_figures(tmp_path):
    text = markdown_brief.render(replace(known(tmp_path), compilation=(compiled(), compiled()), headroom=2.5))
    line = (
        "* configuration 0: grid [2, 8, 1]; x: float32[8, 100] strides [200, 1], y: float32[8, 100], T = 64 (constant)"
    )
    assert text.count(f"{line}; hints occupancy=2") == 1
    assert "* 40 registers a thread, 0 bytes of stack frame, 512 bytes of machine code" in text
    assert "* line 6: not RemarkMemoryTmaLoadFailed. rows of 800 bytes" in text
    assert "2.50 times faster at most" in text


def test_the_json_form_holds_the_same(tmp_path):
    written = json_brief.to_json(known(tmp_path))
    assert written["schema"] == "kdiag.brief/1"
    again = json.loads(json.dumps(written))
    assert set(again) == {"schema", *Brief.__dataclass_fields__}
    assert again["headroom"] is None
    assert again["order"]["value"] is None
    assert again["tried"][0]["verdict"] == "keep"
    assert {"rank", "optimization", "why_not", "diff"} <= set(again["suggestions"][0])


def test_ideas_are_for_causes_that_exist_and_come_in_their_order():
    causes = load_causes()
    assert all(cause in causes for idea in load_ideas() for cause in idea.causes)
    titles = [idea.title for idea in ideas_for(["fp64-pipe", "dram-bandwidth"], "k")]
    assert titles[0] == "Compute in float32"
    assert "Store in a narrower type" in titles
    assert len(titles) == len(set(titles))


SKELETONS = [idea for idea in load_ideas() if idea.skeleton]


@pytest.mark.compiler
@pytest.mark.parametrize("idea", SKELETONS, ids=[idea.title for idea in SKELETONS])
def test_a_skeleton_compiles(idea):
    source = idea.skeleton.replace("KERNEL", "mine")
    name = next(node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    assert compile_to_cubin(source, name).startswith(b"\x7fELF")


def test_a_sum_in_parts_and_a_batch_are_right():
    torch = pytest.importorskip("torch")
    pytest.importorskip("cuda.tile")
    by_title = {idea.title: idea.skeleton.replace("KERNEL", "mine") for idea in SKELETONS}
    x = torch.randint(0, 9, (3, 2500)).float()
    sums = called(by_title["Split a reduction over more blocks (split-K)"], "mine_in_parts", x, 4, 256)
    assert torch.equal(sums, x.sum(1))
    sources = [torch.randn(n) for n in (1, 255, 1000)]
    results = [torch.zeros_like(source) for source in sources]
    called(by_title["One launch over lists of arrays"], "mine_all", sources, results, 256)
    assert all(map(torch.equal, sources, results))


def test_the_command_writes_both_forms(tmp_path):
    file = tmp_path / "k.py"
    file.write_text(SOURCE)
    for name in ("plan.md", "plan.json"):
        answer = CliRunner().invoke(command, [str(file), "--brief", str(tmp_path / name), "--json"])
        assert answer.exit_code == 0, answer.output
    assert (tmp_path / "plan.md").read_text().startswith("# copy_kernel on sm_90\n")
    assert json.loads((tmp_path / "plan.json").read_text())["kernel"] == "copy_kernel"
