"""Command lines that tests run, and programs for them."""

from kdiag import cli


def refusal(capsys, arguments, code, sentence):
    """Run a command that is refused in a sentence that contains this one, and prints nothing else."""
    capsys.readouterr()
    assert cli.run(list(arguments)) == code
    printed = capsys.readouterr()
    assert sentence in printed.err
    assert "Traceback" not in printed.err
    assert printed.out == ""


def program(path, script):
    """A program of a few lines of shell."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path
