"""One run of the tile compiler: where it is looked for, and how each way to fail reads."""

import pytest

from command_lines import program
from kdiag.diagnose.compiler import tileiras
from kdiag.diagnose.compiler.tileiras import CompilerCrash, CompilerRefusal, assemble, find_tileiras
from kdiag.errors import ToolMissing


@pytest.mark.parametrize(
    ("script", "kind", "message"),
    [
        ('echo "first line" >&2; kill -SEGV $$', CompilerCrash, "tileiras was killed by signal 11: first line"),
        (
            """echo 'note'; echo 'loc("/a/b.py":12:7): error: bad tile' >&2; exit 1""",
            CompilerRefusal,
            "tileiras: bad tile (b.py:12)",
        ),
        ("echo 'error: out of registers'; exit 1", CompilerRefusal, "tileiras: out of registers"),
        ("exit 3", CompilerRefusal, "tileiras: no message"),
        ("""echo "Unknown command line argument '--remarks=all'." >&2; exit 1""", ToolMissing, "13.4 or newer"),
    ],
    ids=["crash", "place", "no place", "silent", "old"],
)
def test_every_way_to_fail_is_one_sentence(tmp_path, script, kind, message):
    with pytest.raises(kind) as caught:
        assemble(program(tmp_path / "tileiras", script), b"", "sm_90", 3)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_compiler_is_asked_for_the_target_the_level_and_remarks(tmp_path):
    log = tmp_path / "arguments"
    compiled = assemble(program(tmp_path / "tileiras", f'echo "$@" > {log}; cp "$1" "$3"'), b"code", "sm_100", 2)
    assert (compiled.cubin, compiled.remarks) == (b"code", "")
    asked = log.read_text().split()
    assert {"--gpu-name=sm_100", "-O2", "--lineinfo", "--remarks=all", "--remark-format=yaml"} <= set(asked)


def test_another_toolkit_in_the_environment_is_kept_from_the_compiler(tmp_path, monkeypatch):
    """With CUDA_HOME of another toolkit tileiras 13.4 runs that one's ptxas and fails."""
    monkeypatch.setenv("CUDA_HOME", "/opt/cuda-12")
    assert assemble(program(tmp_path / "tileiras", 'printf "$CUDA_HOME" > "$3"'), b"", "sm_90", 3).cubin == b""


def test_the_compiler_is_found_beside_the_package_then_on_path_then_in_the_toolkit(tmp_path, monkeypatch):
    monkeypatch.setattr(tileiras, "find_spec", lambda _: None)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    of_toolkit = program(tmp_path / "toolkit/bin/tileiras", "")
    assert find_tileiras() == of_toolkit
    on_path = program(tmp_path / "path/tileiras", "")
    assert find_tileiras() == on_path


def test_a_machine_without_the_compiler_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(tileiras, "_candidates", lambda _: iter(()))
    with pytest.raises(ToolMissing, match=r'pip install "kdiag\[gpu\]"'):
        find_tileiras()
