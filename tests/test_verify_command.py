"""`kdiag verify`: any two versions of a kernel, what each gate says, and the exit codes."""

import json

import pytest

import gate_workload
from command_lines import python, refusal
from kdiag.cli import run
from kdiag.executors.bench import Trial
from kdiag.isolate import Died
from kdiag.loop import verifying
from kdiag.records import ConfigurationCheck, Gpu, NotEvaluated

pytestmark = pytest.mark.compiler

DIVISION = "values / largest"
FASTER = "ct.truediv(values, largest, rounding_mode=ct.RoundingMode.APPROX, flush_to_zero=True)"


@pytest.fixture
def kernel(tmp_path):
    return gate_workload.write(tmp_path)


@pytest.fixture
def faster(kernel):
    return gate_workload.variant(kernel, DIVISION, FASTER)


def gates(kernel, after, capsys, *options):
    code = run(["verify", str(kernel), str(after), "--json", *options])
    printed = capsys.readouterr()
    assert printed.out, printed.err
    found = json.loads(printed.out)
    assert found["schema"] == "kdiag.verify/1"
    assert found["passed"] == (code == 0)
    return code, {gate["gate"]: f"{gate['outcome']} {gate['reason']}" for gate in found["gates"]}


def test_a_right_edit_by_hand(kernel, faster, capsys):
    code, found = gates(kernel, faster, capsys)
    assert code == 0
    assert found["scope"].startswith("passed")
    assert "no new fault" in found["emulation"]
    assert found["correctness"] == "could-not-run there is no GPU"
    assert run(["verify", str(kernel), str(faster)]) == 0
    last = capsys.readouterr().out.split("none failed; ")[1]
    assert " ".join(last.split()) == ("could not run: correctness; not proved: that it is right on a GPU")


def test_a_gpu_on_which_nothing_could_be_checked_is_a_failure(kernel, faster, capsys, monkeypatch):
    answer = Died("timeout", "no answer within 120 s")
    monkeypatch.setattr(verifying, "probe_gpu", lambda: Gpu("a card", "9.0", 132))
    monkeypatch.setattr(verifying, "check_on_device", lambda *_: answer)
    code, found = gates(kernel, faster, capsys)
    assert (code, found["correctness"]) == (1, "could-not-run no answer within 120 s")
    right = ConfigurationCheck("rows=5", True, 0.0, 1e-5, stage="edge shapes")
    answer = Trial((right,), (), (NotEvaluated("dtypes", "dtype=float16", "wrong"),))
    assert run(["verify", str(kernel), str(faster)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert (
        "1 check: 1 edge shapes; not evaluated, as the unedited kernel does not pass it: dtypes, dtype=float16" in out
    )
    assert out.endswith("every gate passed")


@pytest.mark.parametrize(
    ("old", "new", "gate", "reason"),
    [
        ('padding_value=-float("inf")', "padding_value=0.0", "emulation", "all negative"),
        ("row = ct.bid(0)", "row = ct.bid(0) + 0", "no-op", "identical"),
        ("y = torch.empty_like(x)", "y = x", "emulation", "it changes the input 'x'"),
        (DIVISION, "values @ largest", "compile", "error"),
        ("def scaled(x", "def scaled(x, z", "compile", "TypeError"),
        ("def scaled(x", "def other(x", "compile", "module 'variant.py' has no attribute 'scaled'"),
        ("def scaled(x", "def scaled((x", "compile", "(variant.py, line "),
    ],
)
def test_a_wrong_edit_fails(kernel, old, new, gate, reason, capsys):
    code, found = gates(kernel, gate_workload.variant(kernel, old, new), capsys)
    assert code == 1
    assert list(found)[-1] == gate
    assert found[gate].startswith("failed")
    assert reason in found[gate]


def test_a_file_of_any_name_is_named_as_the_user_names_it(kernel, capsys):
    after = gate_workload.variant(kernel, "import torch", "import torch, nowhere", "mine.txt")
    code, found = gates(kernel, after, capsys)
    assert (code, list(found)[-1]) == (1, "compile")
    assert found["compile"] == "failed error: ModuleNotFoundError: No module named 'nowhere' (mine.txt:4)"


def test_the_gates_before_the_device_import_no_torch_here(kernel, faster):
    """An interrupt would have to wait until it is imported."""
    code = """if True:
        import sys
        from kdiag import cli
        from kdiag.loop import verifying
        verifying.probe_gpu = lambda: None
        print(cli.run(sys.argv[1:]), "torch" in sys.modules)"""
    assert python(code, "verify", kernel, faster).stdout.splitlines()[-1] == "0 False"


def test_held_against_an_edit(kernel, faster, capsys):
    code, found = gates(kernel, faster, capsys, "--edit", "H:approx-division")
    assert code == 0
    assert "only planned lines" in found["scope"]
    more = gate_workload.variant(faster, 'padding_value=-float("inf")', "padding_value=-1e38", "more.py")
    code, found = gates(kernel, more, capsys, "--edit", "H")
    assert (code, found["scope"]) == (1, "failed it changed the target file at line 11, which the edit does not")


def test_exact_allows_no_other_bit(kernel, capsys):
    after = gate_workload.variant(kernel, DIVISION, "values * (1.0 / largest)")
    assert gates(kernel, after, capsys)[0] == 0
    code, found = gates(kernel, after, capsys, "--exact")
    assert code == 1
    assert "output 0 has not the bits" in found["emulation"]


def test_a_parent_that_is_wrong_proves_nothing(kernel, capsys):
    before = gate_workload.variant(kernel, DIVISION, "values * largest", "before.py")
    _, found = gates(before, kernel, capsys, "--workload", str(kernel.parent))
    assert found["emulation"].startswith("could-not-run the parent itself is wrong")


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["{k}", "{k}", "--edit", "D"], 1, "D does not apply to the first file: the kernel has no ct.mma"),
        (["{k}", "{k}", "--edit", "Z"], 2, "There is no edit 'Z'"),
        (["{k}", "{k}", "--kernel", "other"], 2, "scaled_kernel"),
        (["{alone}", "{alone}"], 1, "name one with --workload"),
    ],
)
def test_what_cannot_be_is_one_sentence(kernel, tmp_path, arguments, code, sentence, capsys):
    alone = tmp_path / "elsewhere" / "alone.py"
    alone.parent.mkdir()
    alone.write_text(kernel.read_text())
    refusal(capsys, ["verify", *(word.format(k=kernel, alone=alone) for word in arguments)], code, sentence)


def test_a_workload_of_commands_is_refused(kernel, capsys):
    toml = kernel.parent / "kdiag.toml"
    toml.write_text('kernel = "scaled.py"\n[test]\ncommand = "true"\n[bench]\ncommand = "true"\n')
    assert run(["verify", str(kernel), str(kernel)]) == 2
    assert "has commands only" in capsys.readouterr().err
