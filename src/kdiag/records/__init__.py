"""What the stages say to each other: frozen records, no behaviour beyond trivial derivations.

Units are in the field names: `_us` microseconds, `_ms` milliseconds, `_pct` percent, `_gbs` 10^9 bytes per
second, `_tflops` 10^12 operations per second, `_bytes` bytes. `None` means unavailable and is never zero.
"""

from __future__ import annotations

from kdiag.records.brief import Brief, Idea
from kdiag.records.compilation import (
    Argument,
    ArrayArgument,
    Compilation,
    CompileEvidence,
    CompileFailure,
    Launch,
    Remark,
    ScalarArgument,
    TuningSpace,
)
from kdiag.records.diagnosis import (
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
)
from kdiag.records.emulation import (
    EmulatedCase,
    EmulatedConfiguration,
    EmulatedSource,
    EmulationCase,
    Fault,
    FaultKind,
)
from kdiag.records.observations import Evidence, EvidenceKind, Observations, Place, Scalar
from kdiag.records.plan import ExpectedSpeedup, Promise, Proposal, Safety, Suggestion, Variant, parts
from kdiag.records.run import (
    GATES,
    ConfigurationCheck,
    ConfigurationTiming,
    GateOutcome,
    GateRecord,
    Iteration,
    Prediction,
    Standing,
    Verdict,
    VerdictName,
    failed,
)

__all__ = [
    "GATES",
    "Argument",
    "ArrayArgument",
    "Brief",
    "Cause",
    "Compilation",
    "CompileEvidence",
    "CompileFailure",
    "ConfigurationCheck",
    "ConfigurationTiming",
    "Diagnosis",
    "EmulatedCase",
    "EmulatedConfiguration",
    "EmulatedSource",
    "EmulationCase",
    "Evidence",
    "EvidenceKind",
    "ExpectedSpeedup",
    "Fault",
    "FaultKind",
    "GateOutcome",
    "GateRecord",
    "Gpu",
    "Idea",
    "Iteration",
    "Launch",
    "LaunchProfile",
    "LaunchRole",
    "Limits",
    "Observations",
    "OtherLaunches",
    "Place",
    "Prediction",
    "Profile",
    "Promise",
    "Proposal",
    "Remark",
    "Roofline",
    "RooflineLevel",
    "RooflinePipe",
    "Safety",
    "Scalar",
    "ScalarArgument",
    "SpeedOfLight",
    "Standing",
    "Suggestion",
    "TuningSpace",
    "Variant",
    "Verdict",
    "VerdictName",
    "failed",
    "parts",
]
