"""`kdiag auto` without the trials of one kernel among those that kdiag brings along: python auto_unaided.py NAME ARGUMENTS"""

import sys

from kdiag.__main__ import main
from kdiag.rules import load_start_values

if __name__ == "__main__":
    name, sys.argv[1:] = sys.argv[1], ["auto", *sys.argv[2:]]
    others = tuple(trial for trial in load_start_values.load() if trial.kernel != name)
    load_start_values.load = lambda: others  # type: ignore[assignment]
    main()
