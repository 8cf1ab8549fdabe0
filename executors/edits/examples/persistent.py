from kdiag.executors.edits.base import Example
EXAMPLES: tuple[Example, ...] = ()
