"""Kernel files that are members of a package: they are imported as such, and everything sees the version that is meant."""

import subprocess
import sys

import pytest

import scaled_vector
from command_lines import written
from kdiag.errors import WorkloadError
from kdiag.package_copy import PackageCopy, member_of
from kdiag.workload import load_kernel, source_hash

KERNEL = """
from . import registry
from ..scale import FACTOR
from pack.registry import register

VALUE = 1

@register("value")
def value():
    return VALUE * FACTOR

def late():
    from .other import shown
    return shown()

def later():
    import pack.ops.other
    return pack.ops.other.VALUE
"""
PACKAGE = {
    "pack/__init__.py": "from . import ops\n",
    "pack/scale.py": "FACTOR = 10\n",
    "pack/registry.py": "FOUND = {}\ndef register(name):\n    return lambda function: FOUND.setdefault(name, function)\n",
    "pack/ops/__init__.py": "from .kernel import value\nfrom . import kernel as module\n",
    "pack/ops/registry.py": "",
    "pack/ops/other.py": "from .kernel import VALUE\ndef shown():\n    from pack.ops import kernel\n    return kernel.VALUE, VALUE\n",
    "pack/ops/kernel.py": KERNEL,
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The kernel file of a package; nothing of it stays imported."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.setattr(PackageCopy, "_active", None)
    for name, text in PACKAGE.items():
        written(tmp_path / "root" / name, text)
    yield tmp_path / "root" / "pack" / "ops" / "kernel.py"
    for name in [name for name in sys.modules if name.partition(".")[0] == "pack"]:
        del sys.modules[name]


def edited(kernel_file, value):
    """A version of the kernel file, kept elsewhere as candidates are."""
    path = kernel_file.parents[3] / str(value) / kernel_file.name
    return written(path, KERNEL.replace("VALUE = 1\n", f"VALUE = {value}\n"))


def test_a_file_is_named_with_its_packages(package):
    root = package.parents[2]
    assert member_of(package) == (root, "pack.ops.kernel")
    assert member_of(root / "alone.py") == (root, "alone")


def test_the_edited_file_stands_in_the_place_of_the_original(package):
    path = edited(package, 7)
    module = load_kernel(package, path, source_hash=source_hash(path.read_text()))
    assert (module.__name__, module.__file__, module.value()) == ("pack.ops.kernel", str(path), 70)
    import pack

    assert pack.ops.value is module.value
    assert dict(pack.registry.FOUND) == {"value": module.value}
    assert module.late() == (7, 7)


def test_modules_that_had_the_original_are_imported_anew(package):
    load_kernel(package, package)
    import pack.ops.other

    before = pack.ops.other
    module = load_kernel(package, edited(package, 7))
    assert (before.VALUE, module.late()) == (1, (7, 7))


def test_copies_beside_each_other_keep_to_themselves(package):
    """Also in what their functions import when they are called, the first time and every time after."""
    paths = [package, edited(package, 2), edited(package, 3)]
    modules = [load_kernel(package, path) for path in paths]
    for _ in range(2):
        assert [module.late() for module in modules] == [(1, 1), (2, 2), (3, 3)]
        assert [module.later() for module in modules] == [1, 2, 3]
    import pack

    assert pack.ops.module is modules[-1]


def test_what_is_imported_is_what_was_written(package):
    path = edited(package, 7)
    expected = source_hash(path.read_text())
    assert load_kernel(package, path, source_hash=expected).VALUE == 7
    stat = path.stat()
    path.write_text(path.read_text().replace("VALUE = 7", "VALUE = 8"))
    with pytest.raises(WorkloadError, match="changed on disk"):
        load_kernel(package, path, source_hash=expected)
    import os

    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # bytecode of the same age and size must not be taken
    assert load_kernel(package, path).VALUE == 8


def test_a_package_that_hides_errors_hides_none(package):
    (package.parent / "__init__.py").write_text(
        "try:\n    from . import kernel\nexcept ImportError:\n    kernel = None\n"
    )
    path = edited(package, "missing_name")
    with pytest.raises(NameError):
        load_kernel(package, path)
    path.write_text("import no_such_module\n")
    with pytest.raises(ModuleNotFoundError):
        load_kernel(package, path)
    assert load_kernel(package, edited(package, 4)).VALUE == 4


def test_a_sibling_imported_by_its_bare_name_is_still_found(package):
    (package.parent / "sibling.py").write_text("WORD = 'beside'\n")
    path = edited(package, 7)
    path.write_text(f"from sibling import WORD\n{KERNEL}")
    assert load_kernel(package, path).WORD == "beside"
    del sys.modules["sibling"]


def test_a_file_outside_a_package_is_loaded_alone(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text("VALUE = 1\n")
    assert load_kernel(tmp_path / "other.py", path).__name__.startswith("kdiag_loaded_")


@pytest.mark.compiler
def test_a_workload_for_a_kernel_file_of_a_package_is_captured_compiled_and_emulated(package, tmp_path):
    root = package.parents[2]
    source = scaled_vector.KERNEL.replace("import torch", "import torch\nfrom ..scale import FACTOR").replace(
        "* 2)", "* FACTOR)"
    )
    package.write_text(source)
    (root / "pack" / "scale.py").write_text("FACTOR = 2\n")
    (package.parent / "__init__.py").write_text("from .kernel import scale\n")
    same = "import pack.ops\n    assert pack.ops.scale is module.scale\n    return module"
    workload = scaled_vector.WORKLOAD.replace("scale.py", "pack/ops/kernel.py").replace("return module", same)
    (root / "w.py").write_text(workload)
    command = [sys.executable, "-m", "kdiag", "emulate", str(root / "w.py")]
    assert subprocess.run(command, capture_output=True, text=True, check=False).returncode == 0

    from kdiag.diagnose.compiler.compile import compile_workload
    from kdiag.workload import read

    described = read(root / "w.py")
    candidate = written(tmp_path / "c" / "kernel.py", source.replace("scale_kernel", "other_kernel"))
    answers = compile_workload(described, [package, candidate], "sm_90", timeout_s=60)
    assert [evidence.kernel for answer in answers for evidence in answer] == ["scale_kernel"] * 2 + ["other_kernel"] * 2
