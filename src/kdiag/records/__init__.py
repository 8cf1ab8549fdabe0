"""What the stages say to each other: frozen records, no behaviour beyond trivial derivations.

Units are in the field names: `_us` microseconds, `_ms` milliseconds, `_pct` percent, `_gbs` 10^9 bytes per
second, `_tflops` 10^12 operations per second, `_bytes` bytes. `None` means unavailable and is never zero.
"""

from .brief import Brief, Idea
from .compilation import (
    Argument,
    ArrayArgument,
    Compilation,
    CompileEvidence,
    CompileFailure,
    Launch,
    LoopTurn,
    Remark,
    ScalarArgument,
    TuningSpace,
)
from .diagnosis import (
    Cause,
    Diagnosis,
    Gpu,
    LaunchProfile,
    LaunchRole,
    Limits,
    OtherLaunches,
    Profile,
    Roofline,
    RooflineLevel,
    RooflinePipe,
    SpeedOfLight,
    architecture,
)
from .emulation import EmulatedCase, EmulatedConfiguration, EmulatedSource, EmulationCase, Fault, FaultKind
from .experience import PastTrial
from .observations import Evidence, EvidenceKind, Observations, Place, Scalar, number
from .plan import Effect, ExpectedSpeedup, Grid, Promise, Proposal, Safety, Suggestion, Variant, parts
from .run import (
    GATES,
    STAGES,
    Clocks,
    ConfigurationCheck,
    ConfigurationTiming,
    GateOutcome,
    GateRecord,
    Iteration,
    NotEvaluated,
    Prediction,
    Stage,
    Standing,
    Verdict,
    VerdictName,
    failed,
)
