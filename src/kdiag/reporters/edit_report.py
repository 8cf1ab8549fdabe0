"""What `kdiag apply` has to tell of one edit."""

from dataclasses import dataclass

from kdiag.records import GateRecord, Proposal, Suggestion


@dataclass(frozen=True)
class EditReport:
    """One variant of one edit. `others` are all that the edit offers, `suggestion` what the planner expects of this one
    from source and compiler alone; `gates` what the compiler says, if it was asked.

    `undo` is a command line that restores the file after it was written, "" before.
    """

    kernel: str
    target: str
    file: str
    proposal: Proposal
    others: tuple[Proposal, ...]
    suggestion: Suggestion
    gates: tuple[GateRecord, ...] = ()
    undo: str = ""
