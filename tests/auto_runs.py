"""Runs `kdiag auto` on a copy of an example in a repository of its own."""

import hashlib
import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bundled import EXAMPLES
from kdiag import cli

RECORDINGS = Path(__file__).parent / "recordings"


@dataclass(frozen=True)
class Project:
    """A git repository that holds one example, committed, and the directory for runs beside it."""

    root: Path
    run_dir: Path

    @property
    def results(self):
        """The table that the run wrote."""
        return (self.run_dir / "worktree" / "sandbox" / "perf_results.md").read_text()

    @property
    def log(self):
        """The log of rounds."""
        return (self.run_dir / "worktree" / "sandbox" / "experiments" / "README.md").read_text()

    @property
    def journal(self):
        """The events of the run."""
        return [json.loads(line) for line in (self.run_dir / "journal.jsonl").read_text().splitlines()]

    def git(self, *words):
        """What git prints in the user's checkout."""
        done = subprocess.run(["git", *words], cwd=self.root, capture_output=True, text=True, check=True)
        return done.stdout

    def commit(self):
        """Commit the user's checkout as it is."""
        self.git("add", "-A")
        self.git("-c", "user.name=User", "-c", "user.email=user@example.com", "commit", "-qm", "as it is")

    def fingerprint(self):
        """SHA-256 of every file of the user's checkout, and of what git keeps for it apart from the new branch."""
        ours = [
            path for path in self.root.rglob("*") if path.is_file() and ".git" not in path.relative_to(self.root).parts
        ]
        kept = [self.root / ".git" / name for name in ("index", "HEAD", "config")]
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in (*ours, *kept)}


def project(folder, example):
    """Copy an example into a new repository below `folder` and commit it."""
    root = folder / "user"
    shutil.copytree(EXAMPLES / example, root, ignore=shutil.ignore_patterns("*.ncu-rep*", "__pycache__"))
    made = Project(root, folder / "run")
    made.git("init", "-q")
    made.commit()
    return made


def auto(made, capsys, *options):
    """Run `kdiag auto --yes --json` on the project; the exit code and the object it printed ({} if none)."""
    where = () if "--resume" in options else ("--run-dir", str(made.run_dir))
    return auto_alone(capsys, str(made.root), *where, *options)


def finished(made, capsys, *options):
    """What a run printed that had time enough on a busy machine and ended well."""
    code, summary = auto(made, capsys, "--budget", "9999", *options)
    assert code == 0, summary
    return summary


def auto_alone(capsys, *options):
    """Run `kdiag auto --yes --json` with these options and nothing else."""
    capsys.readouterr()
    code = cli.run(["auto", "--yes", "--json", *options])
    printed = capsys.readouterr()
    return code, json.loads(printed.out) if printed.out.strip() else {"stderr": printed.err}
