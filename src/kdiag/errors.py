"""The failures kdiag foresees: one clear sentence, what to do about it, and an exit code."""

# What to do where the driver keeps the counters for administrators (https://developer.nvidia.com/ERR_NVGPUCTRPERM).
COUNTER_PERMISSION = (
    "run as root (in a container also with --cap-add=SYS_ADMIN), or let every user: put "
    "`options nvidia NVreg_RestrictProfilingToAdminUsers=0` into /etc/modprobe.d/nvidia-profiling.conf and reboot"
)

FAILURE = 1
USAGE = 2
ASKS_USER = 3
BUG = 70
INTERRUPTED = 130
UNREAD = 141  # what a shell says of a program that SIGPIPE ended


class KdiagError(Exception):
    """A foreseen failure. `str(error)` is what the user reads; `exit_code` is the process's."""

    exit_code = FAILURE


class UsageError(KdiagError):
    """The command line or a file the user wrote for kdiag does not say what is needed."""

    exit_code = USAGE


class AsksUser(KdiagError):
    """kdiag stopped because a person has to decide: `question` in one sentence, the message with all that bears on it."""

    exit_code = ASKS_USER

    def __init__(self, question: str, message: str = "") -> None:
        super().__init__(message or question)
        self.question = question


class ReportError(KdiagError):
    """A profiler report cannot be read, or holds nothing that was profiled."""


class WorkloadError(KdiagError):
    """A workload file breaks the protocol of `docs/workload.md`."""


class RepositoryError(KdiagError):
    """The git repository is not in a state in which a run is safe."""


class ToolMissing(KdiagError):
    """A program or package that this step needs is not installed; the message says how to get it."""
