"""`kdiag doctor`, on machines made of stand-in programs and a stand-in /proc."""

import json
import sys
import time

import pytest
from click.testing import CliRunner

from command_lines import program, written
from kdiag.commands.doctor import command
from kdiag.diagnose import environment, toolchain
from kdiag.diagnose.environment import architecture_of, counter_access, examine
from kdiag.diagnose.toolchain import ask
from kdiag.errors import ToolMissing

H200 = "NVIDIA H200, 9.0, 143771, 580.159"
TILEIRAS = "tileiras: NVIDIA (R) Cuda Tile IR optimizing assembler\nCuda compilation tools, release {0}, V{0}.92"
NCU = "NVIDIA (R) Nsight Compute Command Line Profiler\nVersion 2025.3.1.0 (build 36398880) (public-release)"
CAP_SYS_ADMIN, CAP_PERFMON = 1 << 21, 1 << 38


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine without anything: an empty PATH, an empty /proc, no compiler but the one that a test puts there."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))

    def find_tileiras():
        if not (programs / "tileiras").exists():
            raise ToolMissing("none")
        return programs / "tileiras"

    monkeypatch.setattr(toolchain, "find_tileiras", find_tileiras)
    return tmp_path


def prints(machine, name, output, code=0):
    return script(machine, name, f"cat <<'END'\n{output}\nEND\nexit {code}")


def script(machine, name, body):
    return str(program(machine / "bin" / name, f"PATH=/bin:/usr/bin\n{body}"))


def proc(machine, name, text):
    written(machine / "proc" / name, text)


def tool(found, name):
    return next(each for each in found.tools if each.name == name)


def test_a_machine_with_a_card(machine):
    prints(machine, "nvidia-smi", H200)
    prints(machine, "tileiras", TILEIRAS.format("13.4"))
    found = examine(prints(machine, "ncu", NCU), machine)
    (card,) = found.cards
    assert (card.name, card.compute_capability, card.memory_mib) == ("NVIDIA H200", "9.0", 143771)
    assert (card.architecture, card.cutile, card.limits_known) == ("Hopper", True, True)
    assert (found.driver, found.driver_problem) == ("580.159", "")
    assert (tool(found, "ncu").version, tool(found, "tileiras").version) == ("2025.3.1.0", "13.4.92")
    assert tool(found, "tileiras").usable
    assert not tool(found, "git").found


def test_several_cards_some_of_them_strange(machine):
    rows = ["Tesla V100-SXM2-16GB, 7.0, 16384, 535.10", "NVIDIA GB10, 12.1, [N/A], 535.10", "Odd, [N/A], 5, 535.10"]
    prints(machine, "nvidia-smi", "\n".join(rows))
    found = examine(None, machine)
    assert [card.architecture for card in found.cards] == ["Volta", "Blackwell", None]
    assert [card.cutile for card in found.cards] == [False, True, None]
    assert [card.memory_mib for card in found.cards] == [16384, None, 5]
    assert [card.limits_known for card in found.cards] == [False, False, False]
    assert "580 or newer" in found.driver_problem


def test_a_machine_without_anything(machine):
    found = examine(None, machine)
    assert (found.cards, found.driver, found.no_cards) == ((), None, "nvidia-smi is not installed")
    assert found.counters.allowed is None
    for name in ("ncu", "tileiras", "git"):
        assert not tool(found, name).found
        assert tool(found, name).without


def test_nvidia_smi_that_fails_is_quoted(machine):
    prints(machine, "nvidia-smi", "NVIDIA-SMI has failed because it couldn't communicate with the driver.", 9)
    proc(machine, "driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23\n")
    found = examine(None, machine)
    assert "exit code 9: NVIDIA-SMI has failed because" in found.no_cards
    assert found.driver == "580.95.05"


@pytest.mark.parametrize("body", ["sleep 60", "sleep 60 & wait", "trap '' TERM; sleep 60; sleep 60"])
def test_a_program_that_hangs_costs_its_time_limit(machine, body):
    start = time.monotonic()
    answer = ask([script(machine, "slow", body)], timeout_s=0.2)
    assert "no answer within 0.2 s" in answer.problem
    assert time.monotonic() - start < 5


def test_hanging_tools_do_not_stop_the_doctor(machine, monkeypatch):
    monkeypatch.setattr(toolchain, "ask", lambda command, timeout_s=0.2: ask(command, 0.2))
    monkeypatch.setattr(environment, "ask", lambda command, timeout_s=0.2: ask(command, 0.2))
    script(machine, "nvidia-smi", "sleep 60")
    found = examine(script(machine, "ncu", "sleep 60"), machine)
    assert "no answer" in found.no_cards
    assert tool(found, "ncu").found
    assert "no answer" in tool(found, "ncu").problem


def test_a_program_that_cannot_be_started(machine):
    broken = machine / "bin" / "ncu"
    broken.write_bytes(b"\x7fELF")
    broken.chmod(0o755)
    assert "does not start" in tool(examine(str(broken), machine), "ncu").problem


@pytest.mark.parametrize(("release", "usable"), [("13.1", False), ("13.3", False), ("13.4", True), ("14.0", True)])
def test_tileiras_must_write_remarks(machine, release, usable):
    prints(machine, "tileiras", TILEIRAS.format(release))
    compiler = tool(examine(None, machine), "tileiras")
    assert compiler.usable is usable
    assert usable or "13.4 or newer" in compiler.problem


@pytest.mark.parametrize(
    ("setting", "capabilities", "allowed", "said"),
    [
        ("0", 0, True, "every user"),
        ("", 0, None, "does not say"),
        ("1", CAP_SYS_ADMIN, True, "CAP_SYS_ADMIN"),
        ("1", CAP_PERFMON, None, "CAP_PERFMON"),
        ("1", ~CAP_SYS_ADMIN & ~CAP_PERFMON & (1 << 41) - 1, False, "ERR_NVGPUCTRPERM"),
        ("1", 0, False, "NVreg_RestrictProfilingToAdminUsers=0"),
    ],
)  # fmt: skip
def test_who_may_read_the_counters(machine, setting, capabilities, allowed, said):
    proc(machine, "driver/nvidia/params", f"ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: {setting}\n")
    proc(machine, "self/status", f"Name:\tkdiag\nCapEff:\t{capabilities:016x}\n")
    access = counter_access(machine)
    assert access.allowed is allowed
    assert said in access.reason


@pytest.mark.parametrize(
    ("capability", "word"),
    [("7.5", "Turing"), ("8.0", "Ampere"), ("8.6", "Ampere"), ("8.9", "Ada"), ("9.0", "Hopper"), ("10.3", "Blackwell"),
     ("12.1", "Blackwell"), ("99.0", None)],
)  # fmt: skip
def test_architectures(capability, word):
    assert architecture_of(capability) == word


def torch_of(machine, monkeypatch, cuda):
    """A PyTorch that says what `cuda` says of its build, and that knows one card."""
    package = machine / "site" / "torch"
    package.mkdir(parents=True)
    (package / "version.py").write_text(f"__version__ = '2.9.0'\ncuda: Optional[str] = {cuda}\nhip = None\n")
    (package / "__init__.py").write_text(
        "class cuda:\n"
        "    device_count = staticmethod(lambda: 1)\n"
        "    class card:\n"
        "        name, major, minor, total_memory = 'NVIDIA B200', 10, 0, 178 << 30\n"
        "    get_device_properties = staticmethod(lambda index: cuda.card)\n"
    )
    information = machine / "site" / "torch-2.9.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.9.0\n")
    monkeypatch.syspath_prepend(str(machine / "site"))
    monkeypatch.setenv("PYTHONPATH", str(machine / "site"))
    monkeypatch.delitem(sys.modules, "torch", raising=False)


@pytest.mark.parametrize(("cuda", "cards"), [("'13.0'", ["NVIDIA B200"]), ("None", [])])
def test_pytorch_names_the_card_where_nvidia_smi_is_missing(machine, monkeypatch, cuda, cards):
    torch_of(machine, monkeypatch, cuda)
    found = examine(None, machine)
    assert tool(found, "torch").usable is bool(cards)
    assert [card.name for card in found.cards] == cards
    assert all((card.architecture, card.memory_mib) == ("Blackwell", 178 << 10) for card in found.cards)


def test_the_terminal(machine):
    prints(machine, "nvidia-smi", H200)
    prints(machine, "ncu", NCU)
    done = CliRunner().invoke(command)
    assert done.exit_code == 0
    assert "NVIDIA H200, Hopper (compute capability 9.0), 140 GiB, limits known" in done.stdout
    assert "with all packages it needs" in done.stdout
    assert "without git: `auto` cannot work" in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 100


def test_json(machine):
    prints(machine, "nvidia-smi", H200)
    done = CliRunner().invoke(command, ["--json"])
    answer = json.loads(done.stdout)
    assert (done.exit_code, answer["schema"], answer["works"]) == (0, "kdiag.doctor/1", True)
    assert answer["gpus"][0]["architecture"] == "Hopper"
    git = next(each for each in answer["tools"] if each["name"] == "git")
    assert (git["found"], git["version"]) == (False, None)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("lost", ["libcst", "rich"])
@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_only_a_missing_package_of_its_own_is_a_failure(monkeypatch, lost, arguments):
    real = toolchain.version

    def version(name):
        if name == lost:
            raise toolchain.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(toolchain, "version", version)
    done = CliRunner().invoke(command, arguments)
    assert isinstance(done.exception, ToolMissing)
    assert str(done.exception) == f"kdiag cannot work without {lost}: pip install {lost}."
    assert not arguments or json.loads(done.stdout)["works"] is False
