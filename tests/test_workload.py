"""Workload files: what is read without importing them, and the sentence for each mistake."""

from dataclasses import replace

import pytest

from kdiag.errors import UsageError, WorkloadError
from kdiag.workload import is_workload, load_kernel, load_module, read, source_hash, written

COMPLETE = "\n".join(
    [
        'KERNEL_FILE = "k.py"',
        *(f"def {name}(*_): ..." for name in ("configs", "make_inputs", "run", "reference", "bytes_moved", "flops")),
    ]
)


def write(folder, **files):
    for name, text in files.items():
        (folder / name.replace("_dot_", ".")).write_text(text)
    return folder


def test_a_complete_file_and_the_toml_that_names_it(tmp_path):
    write(tmp_path, k_dot_py="", w_dot_py=COMPLETE, kdiag_dot_toml='workload = "w.py"')
    for path in (tmp_path / "w.py", tmp_path / "kdiag.toml", tmp_path):
        described = read(path)
        assert (described.kernel_file, described.declares_tolerance) == (tmp_path / "k.py", False)


def test_commands(tmp_path):
    write(
        tmp_path,
        k_dot_py="",
        kdiag_dot_toml='kernel = "k.py"\n[test]\ncommand = "pytest -q"\n[bench]\ncommand = ["a", "b"]',
    )
    described = read(tmp_path)
    assert (described.test, described.bench) == (("bash", "-c", "pytest -q"), ("a", "b"))
    with pytest.raises(UsageError, match="would be written over"):
        written(replace(described, path=described.kernel_file), tmp_path)


@pytest.mark.parametrize(("text", "is_one"), [("\ufeffKERNEL_FILE = 1", True), ("KERNEL_FILES = 1", False)])
def test_a_workload_names_its_kernel_file(tmp_path, text, is_one):
    write(tmp_path, w_dot_py=text)
    assert is_workload(tmp_path / "w.py") is is_one


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("def run(): ...", "lacks configs, make_inputs"),
        (COMPLETE.replace('KERNEL_FILE = "k.py"', ""), "needs KERNEL_FILE"),
        (COMPLETE.replace('"k.py"', "str(1)"), "needs KERNEL_FILE"),
        (COMPLETE.replace("k.py", "gone.py"), "does not exist"),
        ("def (", "not valid Python"),
        ("\0", "not valid Python"),
    ],
)
def test_mistakes_in_a_workload_file(tmp_path, text, sentence):
    write(tmp_path, k_dot_py="", w_dot_py=text)
    with pytest.raises((WorkloadError, UsageError), match=sentence):
        read(tmp_path / "w.py")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("workload = 3", "needs either workload"),
        ('workload = "gone.py"', "no workload file"),
        ("kernel", "not valid TOML"),
        ('kernel = "gone.py"', "does not exist"),
        ('kernel = "k.py"', r"needs \[test\]"),
        ('kernel = "k.py"\n[test]\ncommand = ["\\u0000"]', r"needs \[test\]"),
        ('kernel = "k.py"\n[test]\ncommand = "a"', r"needs \[bench\]"),
    ],
)
def test_mistakes_in_a_toml(tmp_path, text, sentence):
    write(tmp_path, k_dot_py="", kdiag_dot_toml=text)
    with pytest.raises((WorkloadError, UsageError), match=sentence):
        read(tmp_path)


def test_what_a_module_lacks_is_said_of_the_users_file(tmp_path):
    candidate = tmp_path / "softmax.py"
    candidate.write_text("VALUE = 1\n")
    module = load_kernel(candidate, candidate)
    with pytest.raises(AttributeError, match=r"^module 'softmax.py' has no attribute 'launch'$") as raised:
        module.launch()
    assert [frame.name for frame in raised.traceback] == ["test_what_a_module_lacks_is_said_of_the_users_file"]


def test_what_is_imported_is_what_was_written(tmp_path):
    path = tmp_path / "k.py"
    path.write_bytes(b"VALUE = 1\r\n")
    assert load_module(path, search=tmp_path, source_hash=source_hash("VALUE = 1\r\n")).VALUE == 1
    with pytest.raises(WorkloadError, match="changed on disk"):
        load_module(path, search=tmp_path, source_hash=source_hash("VALUE = 2\r\n"))
