"""A profile as one JSON object, schema `kdiag.profile/1`; a number that is unavailable is null."""

from __future__ import annotations

from kdiag.records import Cause, Evidence, Gpu, LaunchProfile, Profile

SCHEMA = "kdiag.profile/1"

Json = dict[str, object]


def to_json(profile: Profile) -> Json:
    """Return the object that `kdiag profile --json` prints."""
    return {
        "schema": SCHEMA,
        "source": profile.source,
        "gpu": _gpu(profile.gpu),
        "kernels": [_launch(launch) for launch in profile.kernels],
    }


def _gpu(gpu: Gpu) -> Json:
    limits = gpu.limits
    return {
        "name": gpu.name,
        "compute_capability": gpu.compute_capability,
        "sm_count": gpu.sm_count,
        "limits": {
            "dram_gbs": limits.dram_gbs,
            "l2_gbs": limits.l2_gbs,
            "fp32_tflops": limits.fp32_tflops,
            "tensor_tflops": dict(limits.tensor_tflops),
        },
        "limits_from": limits.source,
    }


def _launch(launch: LaunchProfile) -> Json:
    sol, roofline, diagnosis = launch.sol, launch.roofline, launch.diagnosis
    return {
        "index": launch.index,
        "name": launch.name,
        "symbol": launch.symbol,
        "grid": launch.grid,
        "block": launch.block,
        "duration_us": launch.duration_us,
        "sol": {"compute_pct": sol.compute_pct, "memory_pct": sol.memory_pct, "dram_pct": sol.dram_pct},
        "roofline": {
            "intensity_flop_per_byte": roofline.intensity_flop_per_byte,
            "ridge": roofline.ridge,
            "limited_by": roofline.limited_by,
            "limit_us": roofline.limit_us,
            "pct_of_limit": roofline.pct_of_limit,
        },
        "bottleneck": diagnosis.bottleneck,
        "confidence": diagnosis.confidence,
        "causes": [_cause(cause) for cause in diagnosis.causes],
        "not_evaluated": list(diagnosis.not_evaluated),
    }


def _cause(cause: Cause) -> Json:
    return {"id": cause.id, "score": cause.score, "evidence": [_evidence(each) for each in cause.evidence]}


def _evidence(evidence: Evidence) -> Json:
    where = evidence.where
    return {
        "kind": evidence.kind,
        "name": evidence.name,
        "value": evidence.value,
        "unit": evidence.unit,
        "where": None if where is None else {"file": where.file, "line": where.line, "column": where.column},
        "text": evidence.text,
    }
