"""Command lines that tests run."""

from kdiag import cli


def refusal(capsys, arguments, code, sentence):
    """Run a command that is refused in a sentence that contains this one, and prints nothing else."""
    capsys.readouterr()
    assert cli.run(list(arguments)) == code
    printed = capsys.readouterr()
    assert sentence in printed.err
    assert "Traceback" not in printed.err
    assert printed.out == ""
