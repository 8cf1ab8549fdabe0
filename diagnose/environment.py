"""What this machine has for kdiag: its cards, whether their counters may be read, and its tools."""

import json
import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from kdiag.errors import COUNTER_PERMISSION
from kdiag.records.environment import Card, CounterAccess, Environment, Tool
from kdiag.rules.load_devices import device_named

from .toolchain import Answer, ask, tools

# Prerequisites of cuTile Python 1.7: compute capability 8.x to 12.x, driver r580
# (https://docs.nvidia.com/cuda/cutile-python/quickstart.html).
CUTILE_MAJORS = range(8, 13)
CUTILE_DRIVER = 580
ARCHITECTURES = {
    "5": "Maxwell",
    "6": "Pascal",
    "7.0": "Volta",
    "7.2": "Volta",
    "7.5": "Turing",
    "8": "Ampere",
    "8.9": "Ada",
    "9": "Hopper",
    "10": "Blackwell",
    "11": "Blackwell",
    "12": "Blackwell",
}
FIELDS = "name,compute_cap,memory.total,driver_version"
TORCH_TIMEOUT_S = 60.0
TORCH_CARDS = """
import json, torch
for index in range(torch.cuda.device_count()):
    card = torch.cuda.get_device_properties(index)
    print("CARD", json.dumps([card.name, f"{card.major}.{card.minor}", card.total_memory >> 20]))
"""
# capabilities(7). The first is what https://developer.nvidia.com/ERR_NVGPUCTRPERM asks for; the second is the kernel's
# own for performance counters, and NVIDIA does not say which drivers take it.
CAPABILITIES = {"CAP_SYS_ADMIN": 21, "CAP_PERFMON": 38}


@dataclass(frozen=True)
class _Found:
    cards: tuple[Card, ...] = ()
    driver: str | None = None
    why_not: str = ""


def examine(ncu: str | None, root: Path = Path("/")) -> Environment:
    """Look at the machine. `ncu` is where Nsight Compute was found, `root` the folder that holds `proc`."""
    known = tools(ncu)
    torch = next(tool for tool in known if tool.name == "torch")
    found = _cards(torch)
    driver = found.driver or _driver_of_module(root)
    return Environment(
        python=f"{platform.python_version()} ({sys.executable})",
        cards=found.cards,
        no_cards="" if found.cards else found.why_not,
        driver=driver,
        driver_problem=_driver_problem(driver),
        counters=counter_access(root),
        tools=known,
    )


def counter_access(root: Path = Path("/")) -> CounterAccess:
    """Say whether this process may read GPU counters, from what the driver and the kernel say of it."""
    try:
        params = (root / "proc/driver/nvidia/params").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return CounterAccess(None, "the NVIDIA kernel module is not loaded here")
    setting = _value(params, "RmProfilingAdminOnly")
    if setting == "0":
        return CounterAccess(True, "every user may read them (RmProfilingAdminOnly is 0)")
    if setting != "1":
        return CounterAccess(None, "the driver does not say who may read them (no RmProfilingAdminOnly)")
    held = _capabilities(root)
    if "CAP_SYS_ADMIN" in held:
        return CounterAccess(True, "only administrators may read them, and this process is one (CAP_SYS_ADMIN)")
    if held:
        return CounterAccess(None, "only administrators may read them; CAP_PERFMON, which is held here, may do")
    return CounterAccess(
        False, f"only administrators may read them, ncu will end with ERR_NVGPUCTRPERM: {COUNTER_PERMISSION}"
    )


def architecture_of(compute_capability: str) -> str | None:
    """The architecture in words, e.g. "Hopper" for "9.0"; None for one that is not known."""
    major = compute_capability.partition(".")[0]
    return ARCHITECTURES.get(compute_capability) or ARCHITECTURES.get(major)


def _capabilities(root: Path) -> list[str]:
    """Those of CAPABILITIES that are effective in this process."""
    try:
        status = (root / "proc/self/status").read_text(encoding="utf-8", errors="replace")
        effective = int(_value(status, "CapEff") or "0", 16)
    except (OSError, ValueError):
        return []
    return [name for name, bit in CAPABILITIES.items() if effective >> bit & 1]


def _value(text: str, name: str) -> str | None:
    """The value of a line `name: value`."""
    lines = (line.partition(":") for line in text.splitlines())
    return next((value.strip() for key, _, value in lines if key.strip() == name), None)


def _cards(torch: Tool) -> _Found:
    """Ask nvidia-smi, which needs a tenth of a second; where there is none, PyTorch, in a process of its own."""
    program = shutil.which("nvidia-smi")
    cards = _Found(why_not="nvidia-smi is not installed")
    if program is not None:
        cards = _read_smi(ask([program, f"--query-gpu={FIELDS}", "--format=csv,noheader,nounits"]))
    if cards.cards or not torch.usable:
        return cards
    answer = ask([sys.executable, "-c", TORCH_CARDS], TORCH_TIMEOUT_S)
    lines = [line.removeprefix("CARD ") for line in answer.text.splitlines() if line.startswith("CARD ")]
    return _Found(tuple(_card(*json.loads(line)) for line in lines), None, cards.why_not)


def _read_smi(answer: Answer) -> _Found:
    if answer.problem:
        return _Found(why_not=f"nvidia-smi: {answer.problem}")
    rows = [[part.strip() for part in line.split(",")] for line in answer.text.splitlines()]
    rows = [row for row in rows if len(row) == FIELDS.count(",") + 1]
    if not rows:
        return _Found(why_not="nvidia-smi names no GPU")
    cards = (_card(name, capability, _whole(memory)) for name, capability, memory, _ in rows)
    return _Found(tuple(cards), rows[0][3])


def _card(name: str, capability: str, memory_mib: int | None) -> Card:
    major, _, minor = capability.partition(".")
    known = capability if major.isdecimal() and minor.isdecimal() else None
    return Card(
        name=name,
        compute_capability=known,
        memory_mib=memory_mib,
        architecture=architecture_of(known) if known else None,
        cutile=int(major) in CUTILE_MAJORS if known else None,
        limits_known=device_named(name) is not None,
    )


def _whole(text: str) -> int | None:
    """nvidia-smi writes [N/A] for what a card does not have, such as memory of its own."""
    return int(text) if text.isdecimal() else None


def _driver_of_module(root: Path) -> str | None:
    """The version of the loaded kernel module, the fourth word or later of its first line."""
    try:
        text = (root / "proc/driver/nvidia/version").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    words = text.partition("\n")[0].split()
    return next((word for word in words if word.count(".") and word.replace(".", "").isdecimal()), None)


def _driver_problem(driver: str | None) -> str:
    major = (driver or "").partition(".")[0]
    if not major.isdecimal() or int(major) >= CUTILE_DRIVER:
        return ""
    return f"cuTile needs driver {CUTILE_DRIVER} or newer to run a kernel"
