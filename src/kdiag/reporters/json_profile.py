"""A profile as one JSON object, schema `kdiag.profile/1`; a number that is unavailable is null."""

from dataclasses import asdict

from kdiag.records import Cause, CompileEvidence, Gpu, LaunchProfile, Profile

SCHEMA = "kdiag.profile/1"

Json = dict[str, object]


def to_json(profile: Profile) -> Json:
    """Return the object that `kdiag profile --json` prints."""
    return {
        "schema": SCHEMA,
        "source": profile.source,
        "gpu": _gpu(profile.gpu),
        "kernels": [_launch(launch) for launch in profile.kernels],
        "others": [asdict(other) for other in profile.others],
        "notes": list(profile.notes),
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
            "l1_gbs": limits.l1_gbs,
            "fp32_tflops": limits.fp32_tflops,
            "fp64_tflops": limits.fp64_tflops,
            "tensor_tflops": dict(limits.tensor_tflops),
        },
        "limits_from": limits.source,
    }


def _launch(launch: LaunchProfile) -> Json:
    sol, diagnosis = launch.sol, launch.diagnosis
    return {
        "index": launch.index,
        "name": launch.name,
        "symbol": launch.symbol,
        "role": launch.role,
        "constants": dict(launch.constants),
        "nvtx": list(launch.nvtx),
        "grid": launch.grid,
        "block": launch.block,
        "duration_us": launch.duration_us,
        "share_pct": launch.share_pct,
        "sol": {"compute_pct": sol.compute_pct, "memory_pct": sol.memory_pct, "dram_pct": sol.dram_pct},
        "roofline": asdict(launch.roofline),
        "bottleneck": diagnosis.bottleneck,
        "confidence": diagnosis.confidence,
        "causes": [_cause(cause) for cause in diagnosis.causes],
        "not_evaluated": list(diagnosis.not_evaluated),
        "consequences": list(diagnosis.consequences),
        "contradictions": list(launch.contradictions),
        "compiled": None if launch.compiled is None else _compiled(launch.compiled),
    }


def _compiled(compiled: CompileEvidence) -> Json:
    return {
        "target": compiled.target,
        "registers": compiled.registers,
        "stack_bytes": compiled.stack_bytes,
        "shared_bytes": compiled.shared_bytes,
        "threads": compiled.threads,
        "blocks_per_sm": compiled.blocks_per_sm,
        "occupancy_pct": compiled.occupancy_pct,
        "occupancy_limited_by": compiled.limited_by,
        "instructions": dict(compiled.instructions),
        "remarks": [asdict(remark) for remark in compiled.remarks],
    }


def _cause(cause: Cause) -> Json:
    return {"id": cause.id, "score": cause.score, "evidence": [asdict(each) for each in cause.evidence]}
