"""Command lines that tests run, and programs for them."""

import json
import subprocess
import sys

from kdiag import cli


def as_json(capsys, *arguments, code=0):
    """The JSON object that a command prints."""
    capsys.readouterr()
    assert cli.run([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def python(code, *words):
    """What a Python of its own prints that runs this code to its end."""
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)


def refusal(capsys, arguments, code, sentence):
    """Run a command that is refused in a sentence that contains this one, and prints nothing else."""
    capsys.readouterr()
    assert cli.run(list(arguments)) == code
    printed = capsys.readouterr()
    assert sentence in printed.err
    assert "Traceback" not in printed.err
    assert printed.out == ""


def written(path, text):
    """A file with this text, its folders included."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def program(path, script):
    """A program of a few lines of shell."""
    written(path, f"#!/bin/sh\n{script}\n").chmod(0o755)
    return path
